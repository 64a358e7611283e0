"""What Python's entry among the languages names: how its files are read, and what is known of them by their text."""

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from smemviz.frontends.numba.notebook import NOTEBOOK, script_of, without_magics
from smemviz.frontends.numba.python_program import PythonProgram, find_main, parse_python
from smemviz.frontends.numba.sites.loaded import loaded_sites
from smemviz.frontends.program import Program

__all__ = ["check_runnable", "code_in", "code_reads", "constants_read", "functions", "is_available", "loaded_sites"]

parse = parse_python
_NOTEBOOK_BYTES = 64 * 1024 * 1024  # with the pictures that its cells drew


def code_in(text: str, path: Path) -> str:
    """Return the code in a file's text, of a notebook that of its cells."""
    if path.suffix == NOTEBOOK:
        return script_of(text, path.as_posix())
    return without_magics(text) if path.suffix == ".py" else text


def most_bytes(path: Path, usual: int) -> int:
    """Return how long a file may be."""
    return _NOTEBOOK_BYTES if path.suffix == NOTEBOOK else usual


def is_available() -> bool:
    """Tell whether this machine has what a run needs."""
    return True


def check_runnable(program: Program) -> None:
    """Make sure that a program has a kernel and a ``main()``."""
    assert isinstance(program, PythonProgram)
    program.require_main()


def functions(source: str) -> tuple[tuple[str, int, int], ...]:
    """Return every function of a source: its name, its first and its last line."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # in a stranger's recording
        return ()
    return tuple(
        (node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)]), node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    )


def constants_read(program: PythonProgram, kernel: str) -> frozenset[str] | None:
    """Return the constants that change what a kernel does or how it is launched, with those they are computed from.

    None where that cannot be told: the file has no such kernel, or ``main()`` does not launch it by its name.
    """
    function = program.kernels.get(kernel)
    launched = _launched(program.tree, kernel)
    if function is None or not launched:
        return None
    return frozenset((_reached(program.tree, function) | _followed(program.tree, launched)) & program.constants.keys())


def code_reads(program: PythonProgram, kernel: str) -> frozenset[str] | None:
    """Return the constants that a kernel's code reads, wherever it is launched; None where there is no such kernel."""
    function = program.kernels.get(kernel)
    return None if function is None else frozenset(_reached(program.tree, function) & program.constants.keys())


@lru_cache(maxsize=16)
def _reached(tree: ast.Module, function: ast.FunctionDef) -> frozenset[str]:
    return _followed(tree, _names(function))


def _followed(tree: ast.Module, names: Iterable[str]) -> frozenset[str]:
    """Follow names through the functions and assignments of a module to all that they are computed from."""
    defined = _defined(tree)
    waiting, followed = list(names), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in followed:
            followed.add(name)
            for statement in defined.get(name, ()):
                waiting += _names(statement)
    return frozenset(followed)


def _launched(tree: ast.Module, kernel: str) -> set[str]:
    """Return the names that the launches of a kernel in ``main()`` go by, variables followed to where they are set."""
    main = find_main(tree)
    if main is None:
        return set()
    launches = [
        node
        for node in ast.walk(main)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript) and _is(node.func.value, kernel)
    ]
    names: set[str] = set()
    for launch in launches:
        waiting = [(name, launch.lineno) for name in _names(launch)]
        seen: set[tuple[str, int]] = set()
        while waiting:
            name, line = waiting.pop()
            if (name, line) not in seen:
                seen.add((name, line))
                names.add(name)
                waiting += [
                    (setting_name, setting.lineno)
                    for setting in _set_before(main, name, line)
                    for setting_name in _names(setting)
                ]
    return names


def _set_before(main: ast.FunctionDef, name: str, line: int) -> list[ast.stmt]:
    """Return the last plain assignment of a variable before a line, and all else that sets or changes it until then."""
    setting = [statement for statement, stored in _settings(main) if statement.lineno < line and name in stored]
    plain = [i for i, statement in enumerate(setting) if isinstance(statement, ast.Assign) and statement in main.body]
    return setting[plain[-1] :] if plain else setting


@lru_cache(maxsize=16)
def _settings(main: ast.FunctionDef) -> list[tuple[ast.stmt, frozenset[str]]]:
    kinds = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.With)
    settings = [node for node in ast.walk(main) if isinstance(node, kinds)]
    return [(statement, frozenset(_stored(statement))) for statement in sorted(settings, key=lambda node: node.lineno)]


def _stored(statement: ast.stmt) -> Iterator[str]:
    """Yield the variables that a statement sets, or an element of."""
    parts: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        parts = statement.targets
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign | ast.For):
        parts = [statement.target]
    elif isinstance(statement, ast.With):
        parts = [item.optional_vars for item in statement.items if item.optional_vars]
    for part in parts:
        yield from _names(part)


@lru_cache(maxsize=16)
def _defined(tree: ast.Module) -> dict[str, list[ast.stmt]]:
    defined: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            defined.setdefault(statement.name, []).append(statement)
        else:
            for name in _stored(statement):
                defined.setdefault(name, []).append(statement)
    return defined


def _names(node: ast.AST) -> set[str]:
    """Return every name in a piece of code; of a loop or ``with`` only those of its head, of ``x = ...`` not ``x``."""
    if isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets):
        return _names(node.value)
    if isinstance(node, ast.For):
        return _names(node.iter) | _names(node.target)
    if isinstance(node, ast.With):
        return set[str]().union(*(_names(item) for item in node.items))
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
