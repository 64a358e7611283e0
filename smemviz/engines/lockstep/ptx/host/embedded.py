"""CUDA C++ that stands in a string of a Python file, as CuPy's raw kernels do."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import MutableMapping, Sequence
from dataclasses import replace
from itertools import count

from smemviz.frontends.cuda.program import CudaProgram, parse_cuda
from smemviz.frontends.numba.program import Program

_QUOTES = re.compile(r"[rRuU]*('''|\"\"\"|'|\")")


def embedded(
    code: str, name: str, options: Sequence[str], script: Program, others: MutableMapping[str, str]
) -> CudaProgram:
    """Return a text of CUDA C++ as a program.

    Where it stands in a Python file as it is, its lines and columns are those of that file. A text made otherwise is
    one of its own, called after ``name``.

    Args:
        code: the text.
        name: a kernel in it.
        options: what the compiler is told.
        script: the Python file.
        others: the texts of their own so far, by their names; this one is added if it is another.
    """
    place = _place(code, script.tree, script.source)
    if place is not None:
        line, column = place
        program = parse_cuda("\n" * (line - 1) + " " * column + code, script.file)
    else:
        own = _own_name(code, name, others)
        others[own] = code
        linecache.cache[own] = (len(code), None, code.splitlines(keepends=True), own)
        program = parse_cuda(code, own)
    return replace(program, options=definitions(options))


def definitions(options: Sequence[str]) -> tuple[str, ...]:
    """Return those of a compiler's options that decide what a text means: its macros."""
    flags: list[str] = []
    given = iter(options)
    for option in given:
        if option in ("-D", "--define-macro", "-U", "--undefine-macro"):
            flags.append(f"-{'U' if 'U' in option or 'un' in option else 'D'}{next(given, '')}")
        elif match := re.match(r"(?:-D|--define-macro=)(.+)", option):
            flags.append(f"-D{match[1]}")
        elif match := re.match(r"(?:-U|--undefine-macro=)(.+)", option):
            flags.append(f"-U{match[1]}")
    return tuple(flags)


def _place(code: str, tree: ast.Module, source: str) -> tuple[int, int] | None:
    """Return line and column of the first character of a text that a string of a file holds as it is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == code:
            written = ast.get_source_segment(source, node) or ""
            quotes = _QUOTES.match(written)
            if quotes and written[quotes.end() : -len(quotes[1])] == code:
                return node.lineno, node.col_offset + quotes.end()
    return None


def _own_name(code: str, name: str, others: MutableMapping[str, str]) -> str:
    """Return a file name for a text, another one for each text."""
    plain = re.sub(r"\W+", "_", name)
    names = (f"{plain}{number or ''}.cu" for number in count())
    return next(name for name in names if others.get(name, code) == code)
