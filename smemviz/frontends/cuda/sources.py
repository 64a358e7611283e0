"""A file that PTX names, and from a line of it back to the text: its place, access and function."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from smemviz.frontends.cuda.expressions import Access, Accesses
from smemviz.frontends.cuda.functions import Function, find_functions
from smemviz.frontends.cuda.placing import Place


@dataclass(frozen=True)
class Text:
    """A file that PTX names: its name, its text, the lines that the compiler saw, and the place of each of these.

    ``file`` is empty for the file of the program itself.
    """

    file: str
    source: str
    lines: str = ""
    places: tuple[Place, ...] = ()

    def place(self, line: int) -> Place | None:
        """Return the place of a line that PTX names, None where it names none."""
        return self.places[line - 1] if 0 < line <= len(self.places) else None

    def access(self, line: int, *, stores: bool = False) -> Access | None:
        """Return the access that a line belongs to, that of a store or any; where none is seen, the token itself."""
        place = self.place(line)
        if place is None:
            return None
        return self._accesses.at(*place, stores=stores) or Access("", "", *place, *place)

    def function(self, line: int, column: int) -> Function | None:
        """Return the function that a place lies in."""
        at = self._accesses.lines.at(line, column)
        return next((function for function in self._functions if function.start <= at < function.end), None)

    @cached_property
    def _accesses(self) -> Accesses:
        return Accesses(self.source)

    @cached_property
    def _functions(self) -> tuple[Function, ...]:
        return find_functions(self.source)
