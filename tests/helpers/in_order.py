"""A launch whose loops threads run in order, and one that is interpreted."""

from helpers.same_launch import recorded
from smemviz.engines.lockstep.python import loops
from smemviz.engines.lockstep.python.one_thread.in_order import run
from smemviz.errors import SmemvizError


def in_order_and_interpreted(monkeypatch, launch, after=0):
    """Return what a launch leaves behind, with its loops run in order after so many turns and interpreted.

    ``launch()`` gives what it recorded, findings, and arrays. The last is of each loop that was run in order how many
    threads were left to the interpreter.
    """
    monkeypatch.setattr(run, "_WORTH", after)
    monkeypatch.setattr(run, "_EACH", after)
    monkeypatch.setattr(loops, "run_alone", lambda frame, node: None)
    in_order, left_over = loops.go_on_in_order, []

    def noted(*loop):
        made = in_order(*loop)
        if made is not None:
            left_over.append(made.going.count if isinstance(made, loops.Begun) else 0)
        return made

    left = []
    for way in (noted, lambda *loop: None):
        with monkeypatch.context() as patch:
            patch.setattr(loops, "go_on_in_order", way)
            try:
                (made, findings), *arrays = launch()
            except SmemvizError as error:
                left.append((str(error), [str(one) for one in getattr(error, "findings", ())]))
            else:
                left.append((recorded(made), findings, [array.tobytes() for array in arrays]))
    return *left, left_over
