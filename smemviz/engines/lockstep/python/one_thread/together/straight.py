"""Loops in the text whose turns are all alike: what several threads do in one is noted once, behind it.

Of an index that grows by the same from turn to turn the first and the last are enough.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence, Set
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.python.one_thread.accesses import ALIKE

_MOST = 62  # items whose mask is a number of 64 bits
_LOOP = re.compile(r"( *)for (v\d+|t\d+) in (t\d+):")
_LEAVES = re.compile(r" *(for|while|break|continue|yield|return)\b")
_GIVES_UP = re.compile(r"\bR\d*\.(load|store|locate|write|atomic)\(")  # what several threads do not do
_GROUP = re.compile(r"group\((-?\d+)\)")
_NOTED = re.compile(r"(?:note\((\w+)\)|noted \+= (.*))")
_NAME = re.compile(r"[A-Za-z_]\w*")
_ASSIGNED = re.compile(r"(?:if .*: )?(\w+(?:, \w+)*) = (.*)")


def noted_once(lines: Sequence[str]) -> list[str]:
    """Return the text of a loop that several threads run with accesses noted behind loops, where that is enough."""
    made: list[str] = []
    at = 0
    while at < len(lines):
        loop = _LOOP.fullmatch(lines[at])
        if loop is not None:
            end = at + 1
            while end < len(lines) and lines[end].startswith(loop[1] + " "):
                end += 1
            once = _once(lines[at + 1 : end], *loop.groups()) if lines[end : end + 1] == [loop[1] + "else:"] else None
            if once is not None:
                turn, behind = once
                made += [lines[at], *turn, lines[end], *behind]
                at = end + 1
                continue
        made.append(lines[at])
        at += 1
    return made


def _once(body: Sequence[str], indent: str, number: str, numbers: str) -> tuple[list[str], list[str]] | None:
    """Return the lines of a turn, and of what is noted behind the loop; None where turns may differ."""
    inner = indent + "    "
    begin, group = (_GROUP.fullmatch(line.removeprefix(inner)) for line in (body[0], body[-1]))
    noted = _NOTED.fullmatch(body[-2].removeprefix(inner)) if len(body) > 2 else None
    if begin is None or group is None or noted is None or any(_LEAVES.match(line) for line in body):
        return None
    for line, after in pairwise(body[1:-1]):
        if _GROUP.fullmatch(line.strip()) and not _GIVES_UP.search(after):
            return None
    names = (noted[1] or noted[2]).split(", ")
    if len(names) > _MOST:
        return None
    evenly = _growing_evenly(body[1:-2], names, number)
    others = [name for name, text in zip(names, evenly, strict=True) if text is None]
    texts = [text for text in evenly if text is not None]
    mask = sum(1 << place for place, text in enumerate(evenly) if text is not None)
    behind = [f"group({mark})" for mark in (ALIKE, begin[1], group[1], f"len({numbers})", mask)]
    if texts:
        for end in (":1", f"len({numbers}) - 1:"):
            behind += [f"for {number} in {numbers}[{end}]:", *(f"    note({text})" for text in texts)]
    turn = [*body[1:-2], *(f"{inner}note({name})" for name in others)]
    return turn or [f"{inner}pass"], [inner + line for line in behind]


def _growing_evenly(body: Sequence[str], names: Sequence[str], number: str) -> list[str | None]:
    """Return for each name a text, of the number of the turn and what no turn changes, if it grows evenly with that."""
    matched = [_ASSIGNED.fullmatch(line.strip()) for line in body]
    changed = {name for assigned in matched if assigned for name in assigned[1].split(", ")}
    worth: dict[str, str | None] = {number: number}
    depth = len(body[0]) - len(body[0].lstrip()) if body else 0
    for line, assigned in zip(body, matched, strict=True):
        if assigned is None:
            continue
        worth |= dict.fromkeys(assigned[1].split(", "))
        if line[depth:].startswith(f"{assigned[1]} = "):
            worth[assigned[1]] = _sum_of(assigned[2], worth, changed)
    texts = [_sum_of(name, worth, changed) for name in names]
    return [text if text and number not in changed and _degree(_parsed(text), number) < 2 else None for text in texts]


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _sum_of(text: str, worth: Mapping[str, str | None], changed: Set[str]) -> str | None:
    """Return a text with names in it that no turn changes, None where it is more than a sum of products of such."""
    tree = _parsed(text)
    names = {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)}
    known = {name: worth.get(name, None if name in changed else name) for name in names}
    if not _is_sum(tree) or None in known.values():
        return None
    return "(" + _NAME.sub(lambda name: str(known[name[0]]), text) + ")"


def _is_sum(node: ast.expr) -> bool:
    """Tell whether there are only names, whole numbers, sums, differences and products."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Sub | ast.Mult) and _is_sum(node.left) and _is_sum(node.right)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and _is_sum(node.operand)
    return isinstance(node, ast.Name) or (isinstance(node, ast.Constant) and type(node.value) is int)


def _degree(node: ast.expr, number: str) -> int:
    """Return how often a number is a factor at most."""
    if isinstance(node, ast.BinOp):
        left, right = _degree(node.left, number), _degree(node.right, number)
        return left + right if isinstance(node.op, ast.Mult) else max(left, right)
    if isinstance(node, ast.UnaryOp):
        return _degree(node.operand, number)
    return int(isinstance(node, ast.Name) and node.id == number)


def each_turn(
    groups: NDArray[np.int64],
    begin: NDArray[np.int64],
    noted: NDArray[np.int64],
    noted_begin: NDArray[np.int64],
    names: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the groups of threads, and what was noted, as if every turn had been noted, and where each thread begins.

    ``names`` is how many items a group has.
    """
    from smemviz.engines.lockstep.python.one_thread.together.places import sizes_of_turns, spread_turns

    if not (groups == ALIKE).any():
        return groups, begin, noted, noted_begin
    all_begin, all_noted_begin = sizes_of_turns(groups, begin, names)
    all_groups, all_noted = np.empty(all_begin[-1], np.int64), np.empty(all_noted_begin[-1], np.int64)
    spread_turns(groups, begin, noted, noted_begin, names, all_groups, all_noted)
    return all_groups, all_begin, all_noted, all_noted_begin
