"""What loops go over, and functions of Python and NumPy that Numba compiles as loops over an array."""

from __future__ import annotations

import ast
from dataclasses import replace

from smemviz.frontends.numba.methods import FUNCTIONS
from smemviz.frontends.numba.python_functions import Function, function_of
from smemviz.frontends.numba.sites import elements
from smemviz.frontends.numba.sites.table import ArrayRef, IteratorRef, Ref, TupleRef, Visit
from smemviz.messages import english

ITERATORS = frozenset(
    {"builtins.enumerate", "builtins.iter", "builtins.zip", "numpy.ndenumerate", "numpy.ndindex", "numpy.nditer"}
)


def iterated(visit: Visit, node: ast.expr) -> Ref:
    """Visit what a loop goes over; return what its target stands for."""
    if isinstance(node, ast.Call):
        name = visit.names.canonical(node.func)
        if name in ITERATORS and not node.args:
            return None
        if name == "builtins.enumerate":
            item = iterated(visit, node.args[0])
            for start in (*node.args[1:], *(k.value for k in node.keywords)):
                visit.value(start)
            return TupleRef((None, item))
        if name == "builtins.iter":
            visit.tree.in_lockstep.append(node)
            return iterated(visit, node.args[0])
        if name == "builtins.zip":
            return TupleRef(tuple(iterated(visit, argument) for argument in node.args))
        if name in ("numpy.ndenumerate", "numpy.nditer"):
            return _elements(visit, node, name)
        if name == "numpy.ndindex":
            sizes = [visit.value(argument) for argument in node.args]
            items = sizes[0].items if len(sizes) == 1 and isinstance(sizes[0], TupleRef) else sizes
            return TupleRef((None,) * len(items))
    value = visit.value(node)
    if isinstance(value, ArrayRef):
        return elements.along(visit, node, value)
    if isinstance(value, IteratorRef):
        return value.item
    item = None
    if isinstance(value, TupleRef):
        for ref in value.items:
            item = visit.join(node, item, ref)
    return item


def _elements(visit: Visit, node: ast.Call, name: str) -> Ref:
    """Visit a loop over the elements of arrays; return what its target stands for."""
    visit.tree.in_lockstep.append(node)
    arrays = [visit.value(argument) for argument in node.args]
    if len(arrays) == 1 and isinstance(arrays[0], TupleRef) and name == "numpy.nditer":
        arrays = list(arrays[0].items)
    if not all(isinstance(ref, ArrayRef) and not ref.is_record for ref in arrays):
        return None
    refs = [ref for ref in arrays if isinstance(ref, ArrayRef)]
    if name == "numpy.ndenumerate":
        visit.site(node, refs[0], "load")
        return TupleRef((TupleRef((None,) * refs[0].ndim), None))
    items = tuple(replace(ref, ndim=0, bytewise=False) for ref in refs)  # nditer takes what it reads for aligned
    return TupleRef(items) if len(items) > 1 else items[0]


def iterator(visit: Visit, node: ast.Call) -> Ref:
    """Visit a call that makes an iterator which is a value: a variable may hold it."""
    visit.tree.in_lockstep.append(node)
    return IteratorRef(iterated(visit, node))


_PLACE = {"numpy.digitize": 1}  # of the array among the arguments, the first of most
_MOST = {"builtins.sum": 2, "numpy.digitize": 3, "numpy.searchsorted": 3}  # arguments, 1 of most
_NAMED = {"numpy.digitize": ["right"], "numpy.searchsorted": ["side"], "numpy.sum": ["dtype"]}
_SIDES = ("left", "right")


def loop_over(visit: Visit, node: ast.Call, name: str, arguments: list[Ref]) -> Function | None:
    """Return the device function that a call is of, None where it is of no such loop."""
    named = [keyword.arg for keyword in node.keywords]
    if name not in FUNCTIONS or (named and named != _NAMED.get(name)) or not _takes(name, arguments):
        return None
    if name == "numpy.trace":
        _check_trace(visit, node, arguments[0])
    if name == "numpy.searchsorted":
        _check_side(visit, node)
    return function_of(FUNCTIONS[f"{name} dtype" if named == ["dtype"] else name].py_func)


def _takes(name: str, arguments: list[Ref]) -> bool:
    """Tell whether Numba compiles a function of these arguments: one array, of one axis but for most of NumPy's."""
    place, most = _PLACE.get(name, 0), _MOST.get(name, 1)
    if not place < len(arguments) <= most or any(arguments[k] is not None for k in range(len(arguments)) if k != place):
        return False
    array = arguments[place]
    if isinstance(array, TupleRef):
        return name == "numpy.searchsorted"
    along_all = name.startswith("numpy.") and name not in _MOST
    return isinstance(array, ArrayRef) and not array.is_record and (along_all or array.ndim == 1)


def _check_trace(visit: Visit, node: ast.Call, array: Ref) -> None:
    """Refuse ``np.trace`` of integers, for which NumPy's function of linear algebra is not compiled."""
    if isinstance(array, ArrayRef) and array.dtype.kind not in "fc":
        what = english("{function} of {dtype}", function=ast.unparse(node.func), dtype=array.dtype)
        what = english(
            "{what}: Numba does not compile it for CUDA; write {instead}", what=what, instead=english("a loop")
        )
        raise visit.unsupported(node, what)


def _check_side(visit: Visit, node: ast.Call) -> None:
    """Refuse a side that Numba does not know when it compiles."""
    for side in (*node.args[2:], *(keyword.value for keyword in node.keywords)):
        if visit.names.literal(side) not in _SIDES:
            code, instead = ast.unparse(node), "side='left', side='right'"
            what = english("{what}: Numba does not compile it for CUDA; write {instead}", what=code, instead=instead)
            raise visit.unsupported(node, what)
