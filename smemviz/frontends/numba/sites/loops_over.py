"""Functions of Python and NumPy that Numba compiles as loops over an array: the device function that each is."""

from __future__ import annotations

import ast

from smemviz.frontends.numba.methods import FUNCTIONS
from smemviz.frontends.numba.python_functions import Function, function_of
from smemviz.frontends.numba.sites.table import ArrayRef, Ref, TupleRef
from smemviz.frontends.numba.sites.visit import Visit
from smemviz.messages import english

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
        what = english("{what}: Numba compiles none for CUDA; write {instead}", what=what, instead=english("a loop"))
        raise visit.unsupported(node, what)


def _check_side(visit: Visit, node: ast.Call) -> None:
    """Refuse a side that Numba does not know when it compiles."""
    for side in (*node.args[2:], *(keyword.value for keyword in node.keywords)):
        if visit.names.literal(side) not in _SIDES:
            code, instead = ast.unparse(node), "side='left', side='right'"
            what = english("{what}: Numba compiles none for CUDA; write {instead}", what=code, instead=instead)
            raise visit.unsupported(node, what)
