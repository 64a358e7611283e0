"""A launch with loops that threads run alone, and without."""

import numpy as np

from helpers.same_launch import recorded
from smemviz.engines.lockstep.python import loops
from smemviz.engines.lockstep.python.one_thread import accesses, runner
from smemviz.engines.lockstep.python.one_thread.native import compiled, thread
from smemviz.engines.lockstep.values.masks import Mask
from smemviz.errors import SmemvizError


def both_ways(monkeypatch, launch, of_launch=recorded):
    """Return what a launch leaves behind, with loops of one thread run alone and interpreted, and how many ran alone.

    ``launch()`` gives what it recorded, of which ``of_launch`` is compared, findings, and arrays.
    """
    alone, ran = loops.run_alone, []

    def counted(frame, node):
        ran.append(node)
        mask = alone(frame, node)
        if not isinstance(mask, Mask):
            ran.pop()
        return mask

    left = [left_by(monkeypatch, "run_alone", way, launch, of_launch) for way in (counted, lambda *loop: None)]
    return *left, len(ran)


def left_by(monkeypatch, name, way, launch, of_launch=recorded):
    """Return what a launch leaves behind while a function of ``loops`` is another."""
    with monkeypatch.context() as patch:
        patch.setattr(loops, name, way)
        try:
            (made, findings), *arrays = launch()
        except SmemvizError as error:
            return str(error), [str(one) for one in getattr(error, "findings", ())]
        return of_launch(made), findings, [_bits(array) for array in arrays]


def _bits(array):
    """Return the bytes of an array; the sign of what is no number depends on the processor."""
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag])
    return (np.where(np.isnan(array), np.nan, array) if array.dtype.kind == "f" else array).tobytes()


WAYS = ["text", "text in parts", "machine code", "machine code in parts"]


def run_few(monkeypatch, way):
    """Let several threads run a loop as text or in machine code, in one go or so that they stop every few turns."""
    if "parts" in way:
        monkeypatch.setattr(accesses, "_ENOUGH", 0)
        monkeypatch.setattr(runner, "OFTEN_TOGETHER", 5)
        monkeypatch.setattr(thread, "_OFTEN", 5)
    if "text" in way:
        monkeypatch.setattr(compiled, "native_of", lambda *text: None)
    else:
        monkeypatch.setattr(runner, "OFTEN_TOGETHER", 1)


def note_machine_code(monkeypatch):
    """Return a list that grows by whether each loop is made machine code."""
    found, native_of = [], compiled.native_of

    def noted(*text):
        native = native_of(*text)
        found.append(native is not None)
        return native

    monkeypatch.setattr(compiled, "native_of", noted)
    return found
