"""What launches of Triton's kernels pass by name as plain numbers, ``BLOCK=1024`` and ``num_warps=8``: more knobs."""

import ast
import copy
from collections.abc import Mapping

from smemviz.frontends.program import Constant
from smemviz.recordings.vocabulary import ConstantValue

_OF_TRITON = ("num_warps", "num_stages")
_DECORATORS = ("triton.jit", "jit")


def launch_constants(tree: ast.Module, overrides: Mapping[str, ConstantValue]) -> dict[str, Constant]:
    """Return them in file order, some with other values; one that launches pass differently is none."""
    found: dict[str, list[ast.expr]] = {}
    for keyword in _keywords(tree, _names(tree)):
        found.setdefault(keyword.arg or "", []).append(keyword.value)
    constants = {}
    for name, values in found.items():
        first = values[0]
        if isinstance(first, ast.Constant) and len({ast.dump(value) for value in values}) == 1:
            kind = type(first.value).__name__
            if kind in ("int", "float", "bool"):
                value: ConstantValue = overrides.get(name, first.value)  # type: ignore[arg-type]
                constants[name] = Constant(name, value, kind, first.lineno, ast.unparse(first))
    return constants


def with_keywords(statement: ast.stmt, names: Mapping[str, ConstantValue], tree: ast.Module) -> ast.stmt:
    """Return a statement of a module whose launches pass other values for some names."""
    known = _names(tree) & names.keys()
    if not known or not any(_keywords(statement, known)):
        return statement
    new = copy.deepcopy(statement)
    for keyword in _keywords(new, known):
        keyword.value = ast.copy_location(ast.Constant(names[keyword.arg or ""]), keyword.value)
    return new


def triton_kernels(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the functions that Triton compiles, by name."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {
        function.name: function
        for function in functions
        if any(ast.unparse(decorator).partition("(")[0] in _DECORATORS for decorator in function.decorator_list)
    }


def constants_of(kernel: ast.FunctionDef) -> list[str]:
    """Return the parameters of a kernel that are constants when it is compiled."""
    parameters = (*kernel.args.posonlyargs, *kernel.args.args, *kernel.args.kwonlyargs)
    return [p.arg for p in parameters if p.annotation and ast.unparse(p.annotation).endswith("constexpr")]


def _names(tree: ast.Module) -> set[str]:
    """Return the parameters of kernels that are constants when they are compiled, and what a launch has besides."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    names = {name for function in functions for name in constants_of(function)}
    return {*names, *_OF_TRITON} if names else set()


def _keywords(node: ast.AST, names: set[str]) -> list[ast.keyword]:
    """Return what launches pass by these names."""
    return [
        keyword
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript)
        for keyword in call.keywords
        if keyword.arg in names
    ]
