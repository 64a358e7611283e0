"""Python's constructs in plain words, for refusing one: what it is called, and what to write instead."""

import ast

from smemviz.messages import english

_LOOP = english("Numba does not compile it for CUDA; write a loop")
_ELSEWHERE = english("Numba does not compile it for CUDA; do it on the host")
_MODULE = english("define a device function in the module instead")

_WORDS: dict[type[ast.AST], tuple[str, str]] = {
    ast.ListComp: (english("a list comprehension"), _LOOP),
    ast.SetComp: (english("a set comprehension"), _LOOP),
    ast.DictComp: (english("a dictionary comprehension"), _LOOP),
    ast.GeneratorExp: (english("a generator expression"), _LOOP),
    ast.Yield: ("yield", _LOOP),
    ast.YieldFrom: ("yield from", _LOOP),
    ast.Await: ("await", _ELSEWHERE),
    ast.Lambda: (english("a lambda"), _MODULE),
    ast.FunctionDef: (english("a function defined"), _MODULE),
    ast.AsyncFunctionDef: (english("a function defined"), _MODULE),
    ast.ClassDef: (english("a class defined"), _ELSEWHERE),
    ast.List: (english("a list"), english("write a tuple or use cuda.local.array")),
    ast.Set: (english("a set"), english("write a tuple or use cuda.local.array")),
    ast.Dict: (english("a dictionary"), english("use cuda.local.array")),
    ast.JoinedStr: (english("an f-string"), english("pass the parts to print one by one")),
    ast.Starred: (english("a starred expression"), english("write its items out")),
    ast.Slice: (english("a slice on its own"), english("write it in the index")),
    ast.With: (english("a with statement"), _ELSEWHERE),
    ast.AsyncWith: (english("a with statement"), _ELSEWHERE),
    ast.AsyncFor: ("async for", _ELSEWHERE),
    ast.Try: (english("a try statement"), _ELSEWHERE),
    ast.TryStar: (english("a try statement"), _ELSEWHERE),
    ast.Match: (english("a match statement"), english("write if and elif")),
    ast.Import: (english("an import"), english("Numba refuses it as well; import at the top of the file")),
    ast.ImportFrom: (english("an import"), english("Numba refuses it as well; import at the top of the file")),
    ast.Global: (
        english("a global statement"),
        english("a kernel cannot assign names of the module; store in an array"),
    ),
    ast.Nonlocal: (
        english("a nonlocal statement"),
        english("a kernel cannot assign names of another function; store in an array"),
    ),
    ast.Delete: (english("a del statement"), english("leave the name as it is")),
}


def refusal(node: ast.AST) -> str:
    """Return the sentence that refuses a construct; what the table does not have is named by its text."""
    words, remedy = _WORDS.get(
        type(node), (f"'{_first_line(node)}'", english("write it with what the features table lists"))
    )
    return english("{what} in a kernel is not followed; {remedy}", what=words, remedy=remedy)


def _first_line(node: ast.AST) -> str:
    text = ast.unparse(node).partition("\n")[0]
    return text if len(text) <= 60 else f"{text[:57]}..."
