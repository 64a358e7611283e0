"""Python's constructs in plain words, for refusing one: what it is called, and what to write instead."""

from __future__ import annotations

import ast

from smemviz.messages import said

_LOOP = said("Numba compiles none for CUDA; write a loop")
_ELSEWHERE = said("Numba compiles none for CUDA; do it on the host")
_MODULE = said("define a device function in the module instead")

_WORDS: dict[type[ast.AST], tuple[str, str]] = {
    ast.ListComp: (said("a list comprehension"), _LOOP),
    ast.SetComp: (said("a set comprehension"), _LOOP),
    ast.DictComp: (said("a dictionary comprehension"), _LOOP),
    ast.GeneratorExp: (said("a generator expression"), _LOOP),
    ast.Yield: ("yield", _LOOP),
    ast.YieldFrom: ("yield from", _LOOP),
    ast.Await: ("await", _ELSEWHERE),
    ast.Lambda: (said("a lambda"), _MODULE),
    ast.FunctionDef: (said("a function defined"), _MODULE),
    ast.AsyncFunctionDef: (said("a function defined"), _MODULE),
    ast.ClassDef: (said("a class defined"), _ELSEWHERE),
    ast.List: (said("a list"), said("write a tuple or use cuda.local.array")),
    ast.Set: (said("a set"), said("use cuda.local.array")),
    ast.Dict: (said("a dictionary"), said("use cuda.local.array")),
    ast.JoinedStr: (said("an f-string"), said("pass the parts to print one by one")),
    ast.Starred: (said("a starred expression"), said("write its items out")),
    ast.Slice: (said("a slice on its own"), said("write it in the index")),
    ast.With: (said("a with statement"), _ELSEWHERE),
    ast.AsyncWith: (said("a with statement"), _ELSEWHERE),
    ast.AsyncFor: ("async for", _ELSEWHERE),
    ast.Try: (said("a try statement"), _ELSEWHERE),
    ast.TryStar: (said("a try statement"), _ELSEWHERE),
    ast.Match: (said("a match statement"), said("write if and elif")),
    ast.Import: (said("an import"), said("Numba refuses it as well; import at the top of the file")),
    ast.ImportFrom: (said("an import"), said("Numba refuses it as well; import at the top of the file")),
    ast.Global: (said("a global statement"), said("a kernel cannot assign names of the module; store in an array")),
    ast.Nonlocal: (
        said("a nonlocal statement"),
        said("a kernel cannot assign names of another function; store in an array"),
    ),
    ast.Delete: (said("a del statement"), said("leave the name as it is")),
}


def refusal(node: ast.AST) -> str:
    """Return the sentence that refuses a construct; what the table does not have is named by its text."""
    words, remedy = _WORDS.get(
        type(node), (f"'{_first_line(node)}'", said("write it with what the features table lists"))
    )
    return said("{what} in a kernel is not followed; {remedy}", what=words, remedy=remedy)


def _first_line(node: ast.AST) -> str:
    text = ast.unparse(node).partition("\n")[0]
    return text if len(text) <= 60 else f"{text[:57]}..."
