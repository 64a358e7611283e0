"""Python's constructs in plain words, for refusing one: what it is called, and what to write instead."""

from __future__ import annotations

import ast

_LOOP = "Numba compiles none for CUDA; write a loop"
_ELSEWHERE = "Numba compiles none for CUDA; do it on the host"
_MODULE = "define a device function in the module instead"

_WORDS: dict[type[ast.AST], tuple[str, str]] = {
    ast.ListComp: ("a list comprehension", _LOOP),
    ast.SetComp: ("a set comprehension", _LOOP),
    ast.DictComp: ("a dictionary comprehension", _LOOP),
    ast.GeneratorExp: ("a generator expression", _LOOP),
    ast.Yield: ("yield", _LOOP),
    ast.YieldFrom: ("yield from", _LOOP),
    ast.Await: ("await", _ELSEWHERE),
    ast.Lambda: ("a lambda", _MODULE),
    ast.FunctionDef: ("a function defined", _MODULE),
    ast.AsyncFunctionDef: ("a function defined", _MODULE),
    ast.ClassDef: ("a class defined", _ELSEWHERE),
    ast.List: ("a list", "write a tuple or use cuda.local.array"),
    ast.Set: ("a set", "use cuda.local.array"),
    ast.Dict: ("a dictionary", "use cuda.local.array"),
    ast.JoinedStr: ("an f-string", "pass the parts to print one by one"),
    ast.Starred: ("a starred expression", "write its items out"),
    ast.Slice: ("a slice on its own", "write it in the index"),
    ast.With: ("a with statement", _ELSEWHERE),
    ast.AsyncWith: ("a with statement", _ELSEWHERE),
    ast.AsyncFor: ("async for", _ELSEWHERE),
    ast.Try: ("a try statement", _ELSEWHERE),
    ast.TryStar: ("a try statement", _ELSEWHERE),
    ast.Match: ("a match statement", "write if and elif"),
    ast.Import: ("an import", "import at the top of the file"),
    ast.ImportFrom: ("an import", "import at the top of the file"),
    ast.Global: ("a global statement", "a kernel cannot assign names of the module; store in an array"),
    ast.Nonlocal: ("a nonlocal statement", "a kernel cannot assign names of another function; store in an array"),
    ast.Delete: ("a del statement", "leave the name as it is"),
}


def refusal(node: ast.AST) -> str:
    """Return the sentence that refuses a construct; what the table does not have is named by its text."""
    words, remedy = _WORDS.get(type(node), (f"'{_first_line(node)}'", "write it with what the features table lists"))
    return f"{words} in a kernel is not followed; {remedy}"


def _first_line(node: ast.AST) -> str:
    text = ast.unparse(node).partition("\n")[0]
    return text if len(text) <= 60 else f"{text[:57]}..."
