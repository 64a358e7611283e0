"""The text of a function around what was written of a loop."""

from __future__ import annotations

from smemviz.engines.lockstep.python.one_thread.text.writer import Writer
from smemviz.engines.lockstep.python.one_thread.together.straight import noted_once


def shortest(writer: Writer) -> tuple[str, list[str]]:
    """As ``whole``, with accesses of turns that are all alike noted once."""
    return whole(writer, noted_once(writer.lines) if writer.several else writer.lines)


def whole(writer: Writer, written: list[str]) -> tuple[str, list[str]]:
    """Return the text of a function with what was written of a loop, and the names of what it begins with."""
    wanted = [*writer.names.values(), *(bound.text for bound in writer.bound.values())]
    for made, way in writer.accesses:
        number, axes = made.number, range(made.axes)
        wanted += [f"m{number}", f"b{number}", *(f"n{number}_{k}" for k in axes), *(f"s{number}_{k}" for k in axes)]
        wanted += [f"o{number}", f"f{number}"] * (way == "owned" and not writer.several)
    results = "".join(f"{writer.variable(name)}, " for name in writer.results)
    body = [
        *written,
        "    M.iterations = it",
        "    return True, @V",
    ]
    counted = [group for group in sorted(writer.counted) if group < len(writer.groups)]
    if counted:
        begin, end = ["    try:"], f"        A.count({{{', '.join(f'{group}: g{group}' for group in counted)}}})"
        begin.insert(0, f"    {' = '.join(f'g{group}' for group in counted)} = 0")
        body = [*begin, *(f"    {line}" for line in body), "    finally:", end]
    lines = [
        "def loop(V, U, M, R, A, F, z, me, noted, note, group, stored, P, due, bound):",
        "    it = M.iterations",
        *([f"    {', '.join(wanted)}, = bound"] if wanted else []),
        *(f"    R{scope.number} = R.within({writer.constant(scope.frame)})" for scope in writer.scopes),
        *body,
    ]
    return "\n".join(lines).replace("@V", f"({results})"), wanted
