"""What ends a race: which barrier, and where. Races with a place in common for it are ended by one."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from smemviz.messages import english
from smemviz.recordings.data import Site
from smemviz.recordings.spelling import PYTHON, Spelling

_ATOMICS = {ast.Add: "add", ast.Sub: "sub", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor"}


@dataclass(frozen=True)
class Race:
    """What two threads did, one after the other unless ``at_once``, and the lines where.

    ``apart`` are threads of two warps. ``loop`` is the line of the loop in which the first did it in an earlier round
    than the second: a barrier at its end lies between them. None where it has to stand between the lines. ``blocks``
    are threads of two blocks. ``update`` is the atomic that does at once what both did by a load and a store.
    """

    what: str
    first: int
    second: int
    one_place: bool
    apart: bool
    at_once: bool
    loop: int | None
    spelling: Spelling = PYTHON
    blocks: bool = False
    update: str = ""

    def shares_place(self, other: Race) -> bool:
        """Whether one barrier can end both."""
        if self.loop is not None or other.loop is not None:
            return self.loop == other.loop
        return max(self.first, other.first) < min(self.second, other.second)

    def message(self, *, with_others: bool = False) -> str:
        """Say what was done, why that is a race, and what to do; ``with_others`` have a race at the same place.

        A barrier of the warp would leave theirs.
        """
        atomic, word = self.spelling.atomic, self.spelling.warp_word
        if self.update:
            return english(
                "{what}, and one of the two results is lost. Use {atomic}.", what=self.what, atomic=self.update
            )
        if self.blocks:
            return self._between_blocks()
        if self.apart:
            return self._between_warps()
        if self.at_once:
            return english(
                "{what} in one request with different values. Let one thread do it, or use {atomic}.",
                what=self.what,
                atomic=atomic,
            )
        if self.one_place:
            return english(
                "{what}, both of one warp, with no {word} between. Let one thread do it, or use {atomic}.",
                what=self.what,
                word=word,
                atomic=atomic,
            )
        barrier = self.spelling.barrier if with_others else self.spelling.warp_barrier
        if self.loop is None:
            return english(
                "{what}, both of one warp, with no {word} between. Put {barrier} between them.",
                what=self.what,
                word=word,
                barrier=barrier,
            )
        return english(
            "{what}, both of one warp, with no {word} between. Put {barrier} at the end of the loop of line {line}.",
            what=self.what,
            word=word,
            barrier=barrier,
            line=self.loop,
        )

    def _between_warps(self) -> str:
        barrier = self.spelling.barrier
        if self.one_place:
            return english(
                "{what} with no barrier between. Let one thread do it, or use {atomic}.",
                what=self.what,
                atomic=self.spelling.atomic,
            )
        if self.loop is None:
            return english(
                "{what} with no barrier between. Put {barrier} between them.", what=self.what, barrier=barrier
            )
        return english(
            "{what} with no barrier between. Put {barrier} at the end of the loop of line {line}.",
            what=self.what,
            barrier=barrier,
            line=self.loop,
        )

    def _between_blocks(self) -> str:
        if self.one_place:
            return english(
                "{what}; nothing orders the blocks of a launch. Let one thread do it, or use {atomic}.",
                what=self.what,
                atomic=self.spelling.atomic,
            )
        return english(
            "{what}; nothing orders the blocks of a launch. "
            "Make it two launches, or order them with {fence} and an atomic.",
            what=self.what,
            fence=self.spelling.fence,
        )


def atomic_for(kernel: ast.FunctionDef | None, first: Site, second: Site, spelling: Spelling) -> str:
    """Return the atomic that does what a load and a store of one expression do, empty where they are none."""
    if first.op != "load" or second.op != "store" or first.source != second.source or first.line != second.line:
        return ""
    for node in ast.walk(kernel) if kernel is not None and not first.calls else ():
        here = isinstance(node, ast.AugAssign) and (node.lineno, node.col_offset) == (first.line, first.column)
        if here and isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            name = _ATOMICS.get(type(node.op))
            index = ast.unparse(node.target.slice)
            index = f"({index})" if isinstance(node.target.slice, ast.Tuple) and index[:1] != "(" else index
            if name:
                return f"{spelling.atomic}.{name}({ast.unparse(node.target.value)}, {index}, {ast.unparse(node.value)})"
    return spelling.atomic


def loop_between(kernel: ast.FunctionDef | None, first: Site, second: Site) -> int | None:
    """Return the line of the innermost loop of a kernel that leads from a site back up to an earlier one.

    None without such a loop, in device functions, and where the kernel is not Python.
    """
    up = first.line > second.line or (first.line == second.line and first.op != "load" and second.op == "load")
    if kernel is None or not up or first.calls or second.calls:
        return None
    loops = [
        node.lineno
        for node in ast.walk(kernel)
        if isinstance(node, ast.For | ast.While)
        and node.body[0].lineno <= min(first.line, second.line)
        and max(first.line, second.line) <= (node.body[-1].end_lineno or 0)
    ]
    return max(loops, default=None)
