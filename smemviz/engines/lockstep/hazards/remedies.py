"""What ends a race: which barrier, and where. Races with a place in common for it are ended by one."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from smemviz.languages import PYTHON, Spelling
from smemviz.recordings.data import Site

_ATOMICS = {ast.Add: "add", ast.Sub: "sub", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor"}


@dataclass(frozen=True)
class Race:
    """What two threads did, one after the other unless ``at_once``, and the lines where; ``accesses`` as facts.

    ``apart`` are threads of two warps. ``loop`` is the line of the loop in which the first did it in an earlier round
    than the second: a barrier at its end lies between them. None where it has to stand between the lines. ``blocks``
    are threads of two blocks. ``update`` is the atomic that does at once what both did by a load and a store.
    ``by_warp`` are lanes that a barrier of their warp would order in blocks of other sizes too.
    """

    accesses: Mapping[str, Any]
    first: int
    second: int
    one_place: bool
    apart: bool
    at_once: bool
    loop: int | None
    spelling: Spelling = PYTHON.spelling
    blocks: bool = False
    update: str = ""
    by_warp: bool = True

    def shares_place(self, other: Race) -> bool:
        """Whether one barrier can end both."""
        if self.loop is not None or other.loop is not None:
            return self.loop == other.loop
        return max(self.first, other.first) < min(self.second, other.second)

    def facts(self, *, with_others: bool = False) -> dict[str, Any]:
        """Return the facts of its finding: what was done, what does not order it, and what would.

        ``with_others`` have a race at the same place: a barrier of the warp would leave theirs.
        """
        spelling = self.spelling
        ending: dict[str, Any]
        of_warp = self.by_warp and not (self.apart or self.blocks or with_others)
        if self.update:
            ending = {"remedy": "update", "atomic": self.update}
        elif self.one_place or (self.at_once and not self.apart and not self.blocks):
            ending = {"remedy": "atomic", "atomic": spelling.atomic}
        elif self.blocks:
            ending = {"remedy": "launches", "fence": spelling.fence}
        else:
            barrier = spelling.warp_barrier if of_warp else spelling.barrier
            place = {"remedy": "barrier"} if self.loop is None else {"remedy": "loop", "line": self.loop}
            ending = {"barrier": barrier, **place}
        return {**self.accesses, "between": self._between, "word": spelling.warp_word, **ending}

    @property
    def _between(self) -> str:
        if self.update:
            return "load and store"
        if self.blocks:
            return "blocks"
        if self.apart:
            return "warps"
        if self.at_once:
            return "lanes at once"
        return "lanes" if self.by_warp else "warps"


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
