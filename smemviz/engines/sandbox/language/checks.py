"""What is refused of a text before it is parsed, and of its tree before anything runs."""

from __future__ import annotations

import ast
from dataclasses import replace

from smemviz.engines.sandbox.sandbox_limits import SandboxLimits
from smemviz.errors import InputError, KernelFileError
from smemviz.frontends.numba.python_program import PythonProgram, check_numbers, parse_python
from smemviz.messages import english

_OPEN, _CLOSE = "([{", ")]}"


def parse_text(source: str, file: str, limits: SandboxLimits) -> PythonProgram:
    """Read a text from elsewhere; the program is not trusted, so that Python never executes it.

    Raises:
        InputError: when it is too long.
        KernelFileError: when it nests too deeply, or is not valid Python; names the line.
    """
    check_size(source, file, limits)
    if "\0" in source or any("\ud800" <= letter <= "\udfff" for letter in source):
        raise InputError(english("{file}: the text has characters that no Python file has", file=file))
    _check_brackets(source, file, limits.depth)
    program = parse_python(source, file)
    _check_tree(program.tree, file, limits)
    check_numbers(file, program.tree)
    return replace(program, trusted=False)


def check_size(source: str, file: str, limits: SandboxLimits) -> None:
    """Refuse a text that is too long.

    Raises:
        InputError: saying how long it may be.
    """
    size, most = len(source.encode(errors="surrogatepass")), limits.source_bytes
    if size > most:
        what = english(
            "{file}: the text has {bytes:,} bytes; the editor takes {most:,}", file=file, bytes=size, most=most
        )
        raise InputError(what)


def _check_brackets(source: str, file: str, most: int) -> None:
    """Refuse deeply nested brackets before the parser sees them; those in texts count too, which harms nobody."""
    depth = 0
    for number, line in enumerate(source.splitlines(), 1):
        for letter in line:
            depth += (letter in _OPEN) - (letter in _CLOSE)
            if depth > most:
                raise KernelFileError(
                    file, number, english("brackets nest more than {most} deep; the editor takes no more", most=most)
                )
        depth = max(depth, 0)


def _check_tree(tree: ast.AST, file: str, limits: SandboxLimits) -> None:
    """Refuse a tree of more nodes than are kept, or whose nodes nest more deeply than what walks it may recurse."""
    waiting: list[tuple[ast.AST, int, int]] = [(tree, 0, 1)]
    nodes = 0
    while waiting:
        node, depth, line = waiting.pop()
        line = getattr(node, "lineno", line)
        nodes += 1
        if depth > limits.depth:
            what = english("the text nests more than {most} deep; the editor takes no more", most=limits.depth)
            raise KernelFileError(file, line, what)
        if nodes > limits.nodes:
            what = english("the text has more than {most:,} parts; the editor takes no more", most=limits.nodes)
            raise KernelFileError(file, 1, what)
        waiting.extend((child, depth + 1, line) for child in ast.iter_child_nodes(node))
