"""Where a kernel file declares a shared array and reaches its elements, found in the text alone.

What a layout changes has to be in sight: an array that gets another name, a view, or goes to a device function that
others call too is refused, with the line.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.frontends.numba.syntax import dotted_name, positional
from smemviz.messages import english
from smemviz.recordings.data import ArrayInfo
from smemviz.suggest.rewrites import NotRewrittenError


@dataclass(frozen=True)
class Declaration:
    """The statement ``name = cuda.shared.array(shape, dtype)``, its shape, and the function it stands in."""

    name: str
    shape: ast.expr
    function: ast.FunctionDef
    line: int


def declaration(program: PythonProgram, array: ArrayInfo) -> Declaration:
    """Find where an array of a launch is declared.

    Raises:
        NotRewrittenError: when it has no statement of its own.
    """
    for function in (node for node in ast.walk(program.tree) if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(function):
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.Call() as call)
                ) if (
                    name == array.name and call.lineno == array.line and dotted_name(call.func).endswith("shared.array")
                ):
                    shapes = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "shape")]
                    return Declaration(name, shapes[0], function, array.line)
    name = array.name if array.name.isidentifier() else "name"
    what = english("no statement {code} declares it", code=f"{name} = cuda.shared.array(...)")
    raise NotRewrittenError(array.line, what)


def check_named_once(declared: Declaration) -> None:
    """Refuse an array whose name stands for something else too."""
    for node in ast.walk(declared.function):
        if not (isinstance(node, ast.Name) and node.id == declared.name and isinstance(node.ctx, ast.Store)):
            continue
        if node.lineno != declared.line:
            raise NotRewrittenError(node.lineno, _assigned_here(declared.name))


def elements(program: PythonProgram, function: ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    """Give every index with which a function, and those it hands the array to, reaches an element of it.

    An index is what stands in the brackets, or the second argument of an atomic operation.

    Raises:
        NotRewrittenError: for a use that reaches no element.
    """
    parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(function):
        if not (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)):
            continue
        match parents[node]:
            case ast.Subscript(value=value, slice=index) if value is node:
                yield index
            case ast.Call(func=ast.Attribute() as called, args=[first, index, *_]) if (
                first is node and ".atomic." in f".{dotted_name(called)}"
            ):
                yield index
            case ast.Call(func=ast.Name(id=callee)) as call if callee in program.functions:
                yield from _handed_over(program, call, node, program.functions[callee])
            case _:
                raise NotRewrittenError(node.lineno, _use(parents[node], name))


def views(function: ast.FunctionDef, name: str) -> Iterator[tuple[int, str]]:
    """Give the uses of an array that see its shape: line, and what it is."""
    for node in ast.walk(function):
        for child in ast.iter_child_nodes(node):
            if isinstance(node, ast.Subscript | ast.Call):
                continue
            if isinstance(child, ast.Name) and child.id == name and isinstance(child.ctx, ast.Load):
                yield child.lineno, _use(node, name)


def _handed_over(
    program: PythonProgram, call: ast.Call, array: ast.Name, function: ast.FunctionDef
) -> Iterator[ast.expr]:
    callers = sum(
        isinstance(node, ast.Call) and dotted_name(node.func) == function.name for node in ast.walk(program.tree)
    )
    if callers > 1:
        what = english(
            "{array} is passed to the device function {function}, which is called in {callers} places",
            array=array.id,
            function=function.name,
            callers=callers,
        )
        raise NotRewrittenError(call.lineno, what)
    names = [n for n, given in zip(positional(function), call.args, strict=False) if given is array]
    names += [k.arg for k in call.keywords if k.value is array and k.arg]
    if len(names) != 1:
        what = english(
            "it is not known which argument of {function} {array} is", function=function.name, array=array.id
        )
        raise NotRewrittenError(call.lineno, what)
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == names[0]:
            raise NotRewrittenError(node.lineno, _assigned_here(names[0]))
    yield from elements(program, function, names[0])


def _assigned_here(name: str) -> str:
    return english("{array} gets another value here", array=name)


def _use(parent: ast.AST, name: str) -> str:
    match parent:
        case ast.Attribute(attr="view" | "reshape" | "ravel" | "flatten" | "transpose" | "T"):
            return english("a view of {array} is taken here", array=name)
        case ast.Attribute():
            return english("{code} is used here", code=f"{name}.{parent.attr}")
        case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
            return english("{array} gets another name here", array=name)
        case ast.Call():
            return english("{array} is passed to {function} here", array=name, function=ast.unparse(parent.func))
    return english("{array} is used here as a whole", array=name)
