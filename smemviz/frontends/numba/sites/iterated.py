"""What loops go over: arrays, tuples, and what ``zip`` and ``enumerate`` make of them."""

import ast

from smemviz.frontends.numba.sites import elements
from smemviz.frontends.numba.sites.table import ArrayRef, Ref, TupleRef, Visit

ITERATORS = frozenset({"builtins.enumerate", "builtins.zip"})


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
        if name == "builtins.zip":
            return TupleRef(tuple(iterated(visit, argument) for argument in node.args))
    value = visit.value(node)
    if isinstance(value, ArrayRef):
        return elements.along(visit, node, value)
    item = None
    if isinstance(value, TupleRef):
        for ref in value.items:
            item = visit.join(node, item, ref)
    return item
