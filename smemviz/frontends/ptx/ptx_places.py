"""PTX whose ``.loc`` lines number its own lines, and from these back to what stands there, in it or in its source."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from smemviz.frontends.cuda.sources import Access, Text
from smemviz.frontends.cuda.text.lexing import Place
from smemviz.frontends.ptx.ptx_program import PtxProgram
from smemviz.frontends.triton.python_text import PythonText, with_own_places
from smemviz.languages import PYTHON, language_of

_NOWHERE = Place(0, 0)
_LOCATION = re.compile(r"\.loc\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]+)"', re.M)
_INSTRUCTION = re.compile(r"(?:@!?\s*[%\w$]+\s+)?[a-z]\w*[.;\s]|\{")


@dataclass(frozen=True)
class StatementText(Text):
    """A file whose places are statements, each known by where it begins: there is no telling which access is meant."""

    def place(self, line: int) -> Place | None:
        """Return the place of a line that PTX names, None where it names none."""
        place = super().place(line)
        return place if place and 0 < place.line <= len(self._source_lines) else None

    def access(self, line: int, op: str = "load") -> Access | None:
        """Return what stands at a place, up to the end of its line."""
        place = self.place(line)
        if place is None:
            return None
        text = self._source_lines[place.line - 1].rstrip()
        column = max(place.column, len(text) - len(text.lstrip()))
        return Access("", " ".join(text[column:].split()), place.line, column, place.line, len(text))

    @cached_property
    def _source_lines(self) -> list[str]:
        return self.source.splitlines()


@dataclass(frozen=True)
class PlacedPtx:
    """PTX in which ``.loc F N`` stands before each instruction of a line N, and the files F that are known.

    ``texts`` are these files by the names that PTX has for them, the PTX itself among them; in ``lines`` each of them
    is the PTX itself.
    """

    text: str
    texts: Mapping[str, Text]
    lines: Mapping[str, Text]


def placed(program: PtxProgram) -> PlacedPtx:
    """Number the lines of a program's PTX, with places in its source where that is known."""
    named = {int(number): path for number, path in _FILE.findall(program.source)}
    own = max(named, default=0) + 1
    named[own] = Path(program.file).name
    text, statements = with_own_places(program.source, program.sources.__contains__)
    lines = text.split("\n")
    places: dict[int, list[Place]] = {number: [_NOWHERE] * len(lines) for number in (*program.sources, own)}
    written, depth, begins, current = [], 0, True, (own, _NOWHERE)
    for number, line in enumerate(lines, 1):
        bare = line.partition("//")[0].strip()
        if location := _LOCATION.match(bare):
            file, at = int(location[1]), int(location[2])
            known = statements[file][at - 1] if file in program.sources else _NOWHERE
            current = (file, known) if known.line else (own, _NOWHERE)  # what compilers add is of line 0
            written.append("")
            continue
        if depth and begins and _INSTRUCTION.match(bare):
            file, place = current
            places[file][number - 1] = place if file != own else Place(number, 0)
            line = f"\t.loc {file} {number} 0\n{line}"
        written.append(line)
        depth += bare.count("{") - bare.count("}")
        begins = bare.endswith((";", "{", "}", ":")) if bare else begins
    every_line = tuple(Place(number, 0) for number in range(1, len(lines) + 1))
    itself = StatementText(program.file, program.source, "", every_line)
    texts: dict[str, Text] = {named[own]: itself}
    for number, (path, source) in program.sources.items():
        kind = PythonText if language_of(path) is PYTHON else StatementText
        texts[_name(named[number])] = kind(path, source, "", tuple(places[number]))
    numbered = "\n".join((*written, f'\t.file\t{own} "{named[own]}"', ""))
    return PlacedPtx(numbered, texts, {_name(path): itself for path in named.values()})


def _name(path: str) -> str:
    return path.replace("\\", "/")
