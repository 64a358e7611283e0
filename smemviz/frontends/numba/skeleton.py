"""A ``main()`` for a file that only defines kernels: one block, and arrays as its indices want them."""

import ast
from collections.abc import Iterator

from smemviz.frontends.numba.python_program import PythonProgram

_MOST_THREADS = 1024
_THREADS = {1: 32, 2: 32, 3: 8}  # along each axis


def main_for(program: PythonProgram, kernel: str) -> str:
    """Write a ``main()`` in one line that launches a kernel of a file."""
    node = program.kernels[kernel]
    axes = _axes(node)
    size = _tile(program, node) or _THREADS[axes]
    if size**axes > _MOST_THREADS:
        size = _THREADS[axes]
    imported = (alias for node in program.tree.body if isinstance(node, ast.Import) for alias in node.names)
    numpy = next((alias.asname or alias.name for alias in imported if alias.name == "numpy"), None)
    dimensions = _dimensions(node, {**program.functions}, 3)
    arguments = [_argument(dimensions[argument.arg], size, numpy or "np") for argument in node.args.args]
    start = "" if numpy or not any(dimensions.values()) else "import numpy as np; "
    block = f"({', '.join([str(size)] * axes)})" if axes > 1 else str(size)
    return f"def main(): {start}{kernel}[1, {block}]({', '.join(arguments)})"


def _argument(dimensions: int, size: int, numpy: str) -> str:
    if not dimensions:
        return str(size)
    shape = str(size) if dimensions == 1 else f"({', '.join([str(size)] * dimensions)})"
    return f"{numpy}.zeros({shape})"


def _axes(kernel: ast.FunctionDef) -> int:
    """Return along how many axes a kernel asks for its place."""
    most = 1
    for node in ast.walk(kernel):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("grid", "gridsize")) and node.args:
            most = max(most, {"1": 1, "2": 2, "3": 3}.get(ast.unparse(node.args[0]), 1))
        elif isinstance(node, ast.Attribute) and node.attr in ("y", "z") and "Idx" in ast.unparse(node.value):
            most = max(most, "xyz".index(node.attr) + 1)
    return most


def _tile(program: PythonProgram, kernel: ast.FunctionDef) -> int | None:
    """Return the first size of the first shared array, which is mostly that of the block."""
    for node in ast.walk(kernel):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("shared.array"):
            shapes = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "shape")]
            first = shapes[0] if shapes else None
            first = first.elts[0] if isinstance(first, ast.Tuple) and first.elts else first
            known = program.constants.get(first.id) if isinstance(first, ast.Name) else None
            value = known.value if known else getattr(first, "value", None)
            return value if type(value) is int and value > 0 else None
    return None


def _dimensions(function: ast.FunctionDef, known: dict[str, ast.FunctionDef], depth: int) -> dict[str, int]:
    """Return how many dimensions each parameter has, 0 for a number."""
    sizes = {argument.arg: 0 for argument in function.args.args}
    for node in ast.walk(function):
        for name, dimensions in _uses(node, known, depth):
            if name in sizes:
                sizes[name] = max(sizes[name], dimensions)
    return sizes


def _uses(node: ast.AST, known: dict[str, ast.FunctionDef], depth: int) -> Iterator[tuple[str, int]]:
    """Yield the names that a node uses as arrays, with the dimensions that it takes for granted."""
    if isinstance(node, ast.Subscript):
        dimensions, base = 0, node
        while isinstance(base, ast.Subscript):
            dimensions += len(base.slice.elts) if isinstance(base.slice, ast.Tuple) else 1
            base = base.value  # type: ignore[assignment]
        if isinstance(base, ast.Name):
            yield base.id, dimensions
        elif _is_shape(base) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            yield base.value.id, node.slice.value + 1
    elif isinstance(node, ast.Assign) and _is_shape(node.value) and isinstance(node.targets[0], ast.Tuple):
        yield node.value.value.id, len(node.targets[0].elts)  # type: ignore[attr-defined]
    elif isinstance(node, ast.Attribute) and node.attr in ("shape", "size") and isinstance(node.value, ast.Name):
        yield node.value.id, 1
    elif isinstance(node, ast.Call):
        yield from _passed(node, known, depth)


def _passed(call: ast.Call, known: dict[str, ast.FunctionDef], depth: int) -> Iterator[tuple[str, int]]:
    """Yield what a call takes for granted of what it is given: ``len``, the atomics and the file's own functions."""
    called = ast.unparse(call.func)
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Name) and (called == "len" or (".atomic." in f".{called}" and len(call.args) > 1)):
        index = call.args[1] if len(call.args) > 1 else None
        yield first.id, len(index.elts) if isinstance(index, ast.Tuple) else 1
    elif depth and called in known:
        inner = _dimensions(known[called], known, depth - 1)
        for argument, dimensions in zip(call.args, inner.values(), strict=False):
            if isinstance(argument, ast.Name):
                yield argument.id, dimensions


def _is_shape(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "shape" and isinstance(node.value, ast.Name)
