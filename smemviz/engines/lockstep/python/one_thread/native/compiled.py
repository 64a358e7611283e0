"""Machine code of a text: this imports llvmlite, so import it late."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.python.one_thread.native.functions import Failed, is_known, is_number
from smemviz.engines.lockstep.python.one_thread.native.kinds import INT, NotNativeError, kind_of
from smemviz.engines.lockstep.python.one_thread.native.module import engine_of
from smemviz.engines.lockstep.python.one_thread.native.translated import Translator
from smemviz.engines.lockstep.python.one_thread.text.writer import Writer

Items = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Native:
    """Machine code of a text at an ``address``.

    ``run`` is given the address of what a thread keeps and returns why it stopped.

    ``places`` are where each variable is in that, ``kinds`` its type; ``size`` and ``items`` are how many numbers a
    thread keeps, and how many it notes in a turn at most; ``prints`` are the constant that says what is printed, and
    the variables of the numbers. ``kept`` is the code itself, and what it calls in Python;
    ``failed`` tells whether an error occurred there. ``deep`` numbers tell when an access comes that waits for others.
    """

    run: Callable[[int], int]
    address: int
    places: Mapping[str, int]
    kinds: Mapping[str, Any]
    size: int
    items: int
    prints: Sequence[tuple[str, Sequence[str]]]
    kept: tuple[Any, ...]
    failed: Failed
    deep: int


class _Constant:
    """A constant of a text, which equals what is the same in every bit: 1 is neither 1.0 nor True, nor 0.0 -0.0."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = (type(value), repr(value)) if is_number(value) else value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Constant) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def native_of(machine: Machine, writer: Writer, text: str, wanted: Sequence[str]) -> Native | None:
    """Return the text of a loop, which begins with what is ``wanted``, as machine code, None where Python runs it."""
    dtypes = {f"m{made.number}": made.dtype for made, _ in writer.accesses}
    kinds = {variable: writer.kinds.get(name) for name, variable in writer.names.items()}
    kinds |= {bound.text: bound.dtype for bound in writer.bound.values()}
    if not all(isinstance(kind, np.dtype) for kind in kinds.values()):
        return None
    constants = {name: _Constant(value) for name, value in writer.constants.items() if is_known(value)}
    try:
        return _compiled(text, *(tuple(table.items()) for table in (constants, dtypes, kinds)), tuple(wanted))
    except NotNativeError:
        return None


@lru_cache(maxsize=64)
def _compiled(text: str, constants: Items, dtypes: Items, kinds: Items, wanted: tuple[str, ...]) -> Native:
    """Compile a text with arrays of some types, and variables of some that it begins with.

    Raises:
        NotNativeError: for what is left to Python.
    """
    given = dict.fromkeys((*wanted, "it", "due", "me"), INT) | {name: kind_of(dtype) for name, dtype in kinds}
    values = {name: constant.value for name, constant in constants}
    made = Translator(values, dict(dtypes)).translate(text, given)
    engine = engine_of(str(made.module))
    address = engine.get_function_address("loop")
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)
    of_state = made.places, made.kinds, made.size, made.items
    return Native(run, address, *of_state, made.prints, (engine, made.python), made.failed, made.deep)
