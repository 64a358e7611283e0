"""Every token on a line of its own.

PTX says where an instruction comes from by line, for statements only; with one token a line that line is the innermost
subscript. Nothing else of the PTX changes.
"""

from __future__ import annotations

from typing import NamedTuple

from smemviz.frontends.cuda.lexing import Lines, scan


class Place(NamedTuple):
    """Where a token stands in the text that was written: line from 1, column from 0."""

    line: int
    column: int


def one_token_a_line(source: str) -> tuple[str, tuple[Place, ...]]:
    """Return the text with one token on each line, and the place of each of these lines in the text as it was.

    A directive keeps its lines, comments go.
    """
    lines = Lines(source)
    made: list[str] = []
    places: list[Place] = []
    for token in scan(source):
        if token.kind == "comment":
            continue
        line, column = lines.place(token.start)
        for number, part in enumerate(token.text.split("\n")):
            made.append(part)
            places.append(Place(line + number, 0 if number else column))
    return "\n".join(made) + "\n", tuple(places)
