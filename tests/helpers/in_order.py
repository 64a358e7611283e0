"""A launch whose loops threads run in order, and one that is interpreted."""

from helpers.alone_both_ways import left_by
from smemviz.engines.lockstep.python import loops
from smemviz.engines.lockstep.python.one_thread.in_order import run


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

    left = [left_by(monkeypatch, "go_on_in_order", way, launch) for way in (noted, lambda *loop: None)]
    return *left, left_over
