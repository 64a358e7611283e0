"""A Python file with kernels of Triton, and from a place that PTX names back to the expression that stands there."""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from smemviz.frontends.cuda.sources import Access, Text
from smemviz.frontends.cuda.text.cuda_functions import Function
from smemviz.frontends.cuda.text.lexing import Place

_LOCATION = re.compile(
    r"^(?P<before>\s*\.loc\s+)(?P<file>\d+)\s+(?P<line>\d+)\s+(?P<column>\d+)"
    r"(?:[^\n]*?inlined_at\s+(?P<outer>\d+\s+\d+\s+\d+))?(?P<rest>[^\n]*)$",
    re.MULTILINE,
)
_CALLER = re.compile(r"@\[ (?P<name>[^\n]+?):(?P<line>\d+):(?P<column>\d+)")  # older compilers say it in a comment
_FILE = re.compile(r'^\s*\.file\s+(?P<number>\d+)\s+"(?:[^"]*/)?(?P<name>[^"]+)"', re.MULTILINE)
# The compiler counts lines on from one instruction to the next of what it takes for the lines of an asm.
_ASM = re.compile(r"// begin inline asm\n(?P<first>\s*\.loc[^\n]*\n)(?P<rest>.*?)// end inline asm", re.DOTALL)
_LOCATION_LINE = re.compile(r"^\s*\.loc[^\n]*", re.MULTILINE)
_OF_CUTE = ".entry kernel_cutlass_"
_Point = tuple[int, int, int]  # a file's number, a line and a column


@dataclass(frozen=True)
class PythonText(Text):
    """A Python file that PTX names; ``places`` are those that its lines there stand for."""

    def access(self, line: int, op: str = "load") -> Access | None:
        """Return the call at a place, of several that begin there the innermost; else what is there, else its line."""
        place = self.place(line)
        if place is None:
            return None
        node = self._expressions.get(place)
        if node is None:
            text = self._lines[place.line - 1].strip() if place.line <= len(self._lines) else ""
            return Access("", text, *place, *place)
        text = " ".join((ast.get_source_segment(self.source, node) or "").split())
        end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return Access("", text, node.lineno, node.col_offset, *end)

    def function(self, line: int, column: int) -> Function | None:
        """Return the function that a line lies in, the innermost."""
        around = [node for node in self._definitions if node.lineno <= line <= (node.end_lineno or node.lineno)]
        if not around:
            return None
        node = max(around, key=lambda node: node.lineno)
        return head_of(node)

    @cached_property
    def _lines(self) -> list[str]:
        return self.source.splitlines()

    @cached_property
    def _tree(self) -> ast.Module:
        return ast.parse(self.source)

    @cached_property
    def _definitions(self) -> list[ast.FunctionDef]:
        return [node for node in ast.walk(self._tree) if isinstance(node, ast.FunctionDef)]

    @cached_property
    def _expressions(self) -> dict[Place, ast.expr]:
        """Expressions by where they begin: a call before what is none, an inner call before an outer one."""
        found: dict[Place, ast.expr] = {}
        for node in ast.walk(self._tree):  # from the outside in
            if isinstance(node, ast.expr):
                place = Place(node.lineno, node.col_offset)
                if isinstance(node, ast.Call) or place not in found:
                    found[place] = node
            if isinstance(node, ast.Call):  # where older compilers put a call: behind the function's name
                found[Place(node.func.end_lineno or node.lineno, node.func.end_col_offset or 0)] = node
        return found


def head_of(node: ast.FunctionDef) -> Function:
    """Return the head of a function in Python as those of CUDA C++ are; it has no tokens."""
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return Function(node.name, node.lineno, False, True, 0, 0, 0, tuple(a.arg for a in arguments), (), ())


def with_own_places(ptx: str, is_own: Callable[[int], bool]) -> tuple[str, Mapping[int, tuple[Place, ...]]]:
    """Return PTX whose ``.loc`` name places in files of the user's alone, by a number for the line, and these places.

    ``is_own`` tells of a file by its number. What was inlined from Triton's own files is where the user called it.
    The places are by the number of their file; ``.loc F N`` is the N-th of those of F.
    """
    outer: dict[_Point, _Point] = {}
    numbers: dict[_Point, int] = {}
    places: dict[int, list[Place]] = {}
    first = 0 if _OF_CUTE in ptx else 1  # the number of a line's first column
    named = {match["name"]: int(match["number"]) for match in _FILE.finditer(ptx) if is_own(int(match["number"]))}

    def replaced(match: re.Match[str]) -> str:
        point = int(match["file"]), int(match["line"]), int(match["column"])
        if match["outer"]:
            file, line, column = map(int, match["outer"].split())
            outer[point] = file, line, column
        seen = set()
        while not is_own(point[0]) and point in outer and point not in seen:
            seen.add(point)
            point = outer[point]
        for caller in () if is_own(point[0]) else _CALLER.finditer(match["rest"]):
            if caller["name"] in named:
                point = named[caller["name"]], int(caller["line"]), int(caller["column"])
                break
        if not is_own(point[0]):
            return f"{match['before']}{point[0]} {point[1]} {point[2]}"
        if point not in numbers:
            of_file = places.setdefault(point[0], [])
            of_file.append(Place(point[1], max(0, point[2] - first)))
            numbers[point] = len(of_file)
        return f"{match['before']}{point[0]} {numbers[point]} 0"

    text = _ASM.sub(lambda asm: asm["first"] + _LOCATION_LINE.sub("", asm["rest"]), ptx)
    text = _LOCATION.sub(replaced, text)
    return text, {file: tuple(of_file) for file, of_file in places.items()}
