"""From a line that PTX names back to the text: file, access and function."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from smemviz.frontends.cuda.compiling import Compiled, Text
from smemviz.frontends.cuda.expressions import Access, Accesses
from smemviz.frontends.cuda.functions import Function, find_functions


class SourceText:
    """One file that PTX names; ``file`` is empty for the file of the program itself."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self.file = text.file

    def place(self, line: int) -> tuple[int, int] | None:
        """Return line and column of a line that PTX names."""
        return self._text.place(line)

    def access(self, line: int, *, stores: bool = False) -> Access | None:
        """Return the access that a line belongs to, that of a store or any; where none is seen, the token itself."""
        place = self._text.place(line)
        if place is None:
            return None
        return self._accesses.at(*place, stores=stores) or Access(
            "", "", place.line, place.column, place.line, place.column
        )

    def function(self, line: int, column: int) -> Function | None:
        """Return the function that a place lies in."""
        at = self._accesses.lines.at(line, column)
        return next((function for function in self._functions if function.start <= at < function.end), None)

    @cached_property
    def _accesses(self) -> Accesses:
        return Accesses(self._text.source)

    @cached_property
    def _functions(self) -> tuple[Function, ...]:
        return find_functions(self._text.source)


class Sources:
    """The files of a compiled program, by the numbers that its PTX gives them."""

    def __init__(self, compiled: Compiled, files: dict[int, str]) -> None:
        self._found: dict[int, SourceText] = {}
        for number, path in files.items():
            text = compiled.text(path)
            if text is not None:
                self._found[number] = SourceText(text)
        self.texts = {text.file: text.source for text in compiled.texts.values() if text.file and Path(text.file).name}

    def file(self, number: int) -> SourceText | None:
        """Return a file, None for one of CUDA's own headers."""
        return self._found.get(number)
