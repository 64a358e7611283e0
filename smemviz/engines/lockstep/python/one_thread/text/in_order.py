"""Where threads wait for each other in the text of a loop, so that accesses come as in lockstep, and what they note."""

from __future__ import annotations

from smemviz.engines.lockstep.python.one_thread.arrays import Access, Array
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer

START, STOP, STEP = ENDS = "from_", "to_", "by_"  # of the numbers that are left to a thread of the outermost loop


def enter_loop(writer: Writer) -> None:
    """Begin a loop: what is done in it comes behind what is before it, and turn after turn."""
    if writer.in_order:
        writer.around.append(len(writer.sites))
        writer.put(f"{_turn(len(writer.around))} = 0")


def begin_turn(writer: Writer) -> None:
    """Begin a turn of the loop that was begun last."""
    if writer.in_order:
        writer.put(f"{_turn(len(writer.around))} += 1")


def leave_loop(writer: Writer) -> None:
    """Go on behind a loop."""
    if writer.in_order:
        writer.around.pop()


def wait(writer: Writer, array: Array) -> None:
    """Wait until an access to what others reach is next: by the turn of each loop around it, and where in its turn."""
    if not writer.in_order or array.space not in ("shared", "global"):
        return
    when = [_turn(1)]
    for level, first in enumerate(writer.around[1:], 2):
        when += [str(first), _turn(level)]
    writer.put(f"wait({', '.join(when)}, {len(writer.sites)})")


def note(writer: Writer, access: Access, place: str, site: int | None) -> None:
    """Note an access, further in, before it is made."""
    if writer.in_order and site is not None:
        if writer.pieces(site) > 1:
            raise NotWrittenError
        writer.put(f"    did({len(writer.sites)}, {place}, m{access.number})")


def note_changed(writer: Writer, access: Access, place: str, site: int | None) -> None:
    """Note what an access that was noted has stored, further in."""
    if writer.in_order and site is not None:
        if access.dtype.kind == "c":
            raise NotWrittenError
        writer.put(f"    changed({place}, m{access.number})")


def _turn(level: int) -> str:
    return f"q{level}"
