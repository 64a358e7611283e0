"""What loops go over: which array or tuple their targets stand for, and where elements are loaded."""

from __future__ import annotations

import ast
from dataclasses import replace

from smemviz.frontends.numba.sites import elements
from smemviz.frontends.numba.sites.table import ArrayRef, IteratorRef, Ref, TupleRef
from smemviz.frontends.numba.sites.visit import Visit

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
