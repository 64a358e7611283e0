"""Subscripts and fields: which of them reach an element and are sites, and which give another view of an array."""

import ast
from dataclasses import replace

from smemviz.frontends.numba.sites.fields import field_of, not_aligned
from smemviz.frontends.numba.sites.table import ArrayRef, Ref, SliceRef, TupleRef, Visit, field_name
from smemviz.frontends.numba.syntax import evaluate, item_sources
from smemviz.messages import english


def subscript(visit: Visit, node: ast.Subscript) -> Ref:
    """Visit a subscript; return the array or tuple it gives."""
    base = visit.value(node.value)
    name = field_name(node.slice)
    if name is not None:
        return part(visit, node, base, name, "load")
    picked = indices(visit, node.slice)
    if isinstance(base, TupleRef):
        return _item(visit, node, base)
    if _is_new_axis(visit, node.slice):
        code, array = ast.unparse(node), ast.unparse(node.value)
        what = english(
            "{what}: Numba does not compile it for CUDA; write {instead}", what=code, instead=f"{array}[None, ...]"
        )
        raise visit.unsupported(node, what)
    if isinstance(base, ArrayRef) and base.is_record and not base.ndim and picked:
        instead = f"{ast.unparse(node.value)}[{(base.dtype.names or ('',))[0]!r}]"
        what = english(
            "{code}: a field is taken by its name here; write {instead}", code=ast.unparse(node), instead=instead
        )
        raise visit.unsupported(node, what)
    return element(visit, node, base, picked, "load")


def _item(visit: Visit, node: ast.Subscript, base: TupleRef) -> Ref:
    index = evaluate(node.slice, {})
    if isinstance(index, int) and -len(base.items) <= index < len(base.items):
        return base.items[index]
    result: Ref = None
    for ref in base.items:
        result = visit.join(node, result, ref)
    return result


def indices(visit: Visit, node: ast.expr) -> int:
    """Visit the index of a subscript; return of how many axes it picks one position."""
    picked = 0
    for part in node.elts if isinstance(node, ast.Tuple) else [node]:
        value = visit.value(part)
        if isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and part.value is Ellipsis):
            continue
        if _is_new_axis(visit, part):
            continue
        items = value.items if isinstance(value, TupleRef) else (value,)
        picked += sum(not isinstance(item, SliceRef) for item in items)
    return picked


def _is_new_axis(visit: Visit, node: ast.expr) -> bool:
    return (isinstance(node, ast.Constant) and node.value is None) or visit.names.canonical(node) == "numpy.newaxis"


def wrong_indices(visit: Visit, node: ast.expr, picked: int, base: ArrayRef) -> Exception:
    """Return the error of as many indices as an array has no axes."""
    what = english(
        "{code} has {indices} indices for {axes} axes", code=ast.unparse(node), indices=picked, axes=base.ndim
    )
    return visit.unsupported(node, what)


def element(visit: Visit, node: ast.Subscript, base: Ref, picked: int, op: str) -> Ref:
    """Note a site where a subscript reaches an element; return the view where it does not."""
    if not isinstance(base, ArrayRef):
        return _not_followed(visit, node, op)
    if picked > base.ndim:
        raise wrong_indices(visit, node, picked, base)
    new = sum(_is_new_axis(visit, part) for part in node.slice.elts) if isinstance(node.slice, ast.Tuple) else 0
    if new and op == "store":
        visit.tree.in_lockstep.append(node)
    if op == "load" and (base.is_record or picked < base.ndim + new):
        return replace(base, ndim=base.ndim - picked + new)
    if base.is_record and picked < base.ndim:
        what = english("{code}: records are stored one by one; write a loop", code=ast.unparse(node))
        raise visit.unsupported(node, what)
    visit.site(node, base, op)
    return None


def _not_followed(visit: Visit, node: ast.Attribute | ast.Subscript, op: str) -> Ref:
    """Leave alone a load of what is not known to be an array; a store there is refused."""
    if op == "store":
        raise visit.unsupported(node, english("it is not known which array {code} is", code=ast.unparse(node.value)))
    return None


def part(visit: Visit, node: ast.Attribute | ast.Subscript, base: Ref, name: str, op: str) -> Ref:
    """Note a site where a field of one record is reached; return the view of a field of many."""
    if isinstance(base, TupleRef) and name in base.names:
        return base.items[base.names.index(name)]
    if not isinstance(base, ArrayRef):
        return _not_followed(visit, node, op)
    field = field_of(base.dtype, name)
    if field is None:
        raise visit.unsupported(
            node,
            english(
                "{code}: {array} has no field {field}",
                code=ast.unparse(node),
                array=" or ".join(base.origins),
                field=name,
            ),
        )
    if not field.aligned:
        raise visit.unsupported(node, not_aligned(name))
    # Of one record it is the record that is aligned or not, of many their array; the arrays in a record always are.
    bytewise = (base.bytewise or base.is_packed) if base.ndim else base.is_packed and not field.shape
    view = replace(base, ndim=base.ndim + len(field.shape), dtype=field.dtype, bytewise=bytewise)
    if (view.ndim or view.is_record) and op == "load":
        return view
    visit.site(node, view, op)
    return None


def along(visit: Visit, node: ast.expr, value: Ref) -> Ref:
    """Return an item along the first axis of an array, None for an element of it; those are loaded at ``node``."""
    if not isinstance(value, ArrayRef) or not value.ndim:
        return None
    if value.ndim == 1 and not value.is_record:
        visit.site(node, value, "load")
        return None
    return replace(value, ndim=value.ndim - 1)


def bind(visit: Visit, target: ast.expr, value: Ref, source: ast.expr) -> None:
    """Let a target stand for the value of ``source``; note the site where it is an element."""
    is_field = isinstance(target, ast.Attribute) or (isinstance(target, ast.Subscript) and field_name(target.slice))
    if isinstance(value, ArrayRef) and (is_field or (isinstance(target, ast.Subscript) and value.is_record)):
        what = english(
            "{code}: an array or a record is copied whole; copy its parts one by one", code=ast.unparse(source)
        )
        raise visit.unsupported(source, what)
    match target:
        case ast.Name():
            visit.assign(target, target.id, value)
        case ast.Tuple() | ast.List():
            items = value.items if isinstance(value, TupleRef) else (along(visit, source, value),) * len(target.elts)
            for inner, item, origin in zip(target.elts, items, item_sources(source, len(target.elts)), strict=False):
                bind(visit, inner, item, origin)
        case ast.Subscript(slice=ast.Constant(value=str() as name)):
            part(visit, target, visit.value(target.value), name, "store")
        case ast.Subscript():
            base = visit.value(target.value)
            element(visit, target, base, indices(visit, target.slice), "store")
        case ast.Attribute():
            part(visit, target, visit.value(target.value), target.attr, "store")
        case _:
            raise visit.unsupported(target, english("assignment to {code} is not followed", code=ast.unparse(target)))
