"""Subscripts and fields: which of them reach an element and are sites, and which give another view of an array."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.constants import evaluate
from smemviz.frontends.numba.sites.fields import field_of, not_aligned
from smemviz.frontends.numba.sites.names import Names, source_text
from smemviz.frontends.numba.sites.table import ArrayRef, Declaration, Ref, SiteTree, TupleRef
from smemviz.messages import said
from smemviz.recordings.data import Site

Calls = tuple[tuple[int, int], ...]

_MAX_SITES = 10_000


@dataclass(frozen=True)
class Walk:
    """What the walks of all functions share: the kernel's file, the names of each, and the growing lists."""

    file: str
    refs: dict[Calls, dict[str, Ref]]
    sites: list[Site] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)
    grids: list[ast.AST] = field(default_factory=list)


class ElementWalk:
    """The walk of one function as reached by one chain of calls; this part notes sites."""

    def __init__(
        self,
        walk: Walk,
        tree: SiteTree,
        bound: Mapping[str, Ref],
        calls: Calls,
        outer: tuple[ast.FunctionDef, ...] = (),
    ) -> None:
        self.walk = walk
        self.tree = tree
        self.function = tree.function
        self.calls = calls
        self.nodes = (*outer, tree.function.node)
        self.refs = walk.refs.setdefault(calls, {})
        self.names = Names(tree.function)
        self.declared: dict[ast.AST, str] = {}
        self.returned: Ref = None
        for name, ref in bound.items():
            self.refs[name] = self.join(tree.function.node, self.refs.get(name), ref)

    def value(self, node: ast.expr) -> Ref:
        """Visit an expression; return the array or tuple it gives."""
        raise NotImplementedError

    def unsupported(self, node: ast.AST, what: str) -> UnsupportedError:
        return UnsupportedError(self.function.file, getattr(node, "lineno", 1), what)

    def join(self, node: ast.AST, one: Ref, other: Ref) -> Ref:
        """Merge what a name may stand for; arrays of two kinds under one name cannot be followed."""
        if one is None or other is None or one == other:
            return other if one is None else one
        if isinstance(one, TupleRef) and isinstance(other, TupleRef) and len(one.items) == len(other.items):
            pairs = zip(one.items, other.items, strict=True)
            return TupleRef(tuple(self.join(node, a, b) for a, b in pairs), one.names)
        if isinstance(one, ArrayRef) and isinstance(other, ArrayRef):
            origins = tuple(dict.fromkeys((*one.origins, *other.origins)))
            if replace(one, origins=origins) == replace(other, origins=origins):
                return replace(one, origins=origins)
        raise self.unsupported(node, said("one name stands for two kinds of array here; give each its own name"))

    # -- subscripts

    def subscript(self, node: ast.Subscript) -> Ref:
        base = self.value(node.value)
        name = field_name(node.slice)
        if name is not None:
            return self.part(node, base, name, "load")
        picked = self.indices(node.slice)
        if isinstance(base, TupleRef):
            return self.item(node, base)
        return self.element(node, base, picked, "load")

    def item(self, node: ast.Subscript, base: TupleRef) -> Ref:
        index = evaluate(node.slice, {})
        if isinstance(index, int) and -len(base.items) <= index < len(base.items):
            return base.items[index]
        result: Ref = None
        for one in base.items:
            result = self.join(node, result, one)
        return result

    def indices(self, node: ast.expr) -> int:
        """Visit the index of a subscript; return of how many axes it picks one position."""
        picked = 0
        for part in node.elts if isinstance(node, ast.Tuple) else [node]:
            value = self.value(part)
            if isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and part.value is Ellipsis):
                continue
            if isinstance(part, ast.Constant) and part.value is None:
                raise self.unsupported(part, said("a new axis in an index is not followed; use reshape"))
            picked += len(value.items) if isinstance(value, TupleRef) else 1
        return picked

    def element(self, node: ast.Subscript, base: Ref, picked: int, op: str) -> Ref:
        """Note a site where a subscript reaches an element; return the view where it does not."""
        if not isinstance(base, ArrayRef):
            if op == "store":
                raise self.unsupported(
                    node, said("it is not known which array {code} is", code=ast.unparse(node.value))
                )
            return None
        if picked > base.ndim:
            raise self.unsupported(
                node,
                said(
                    "{code} has {indices} indices for {axes} axes",
                    code=ast.unparse(node),
                    indices=picked,
                    axes=base.ndim,
                ),
            )
        if base.is_record or (picked < base.ndim and op == "load"):
            if op == "store":
                raise self.unsupported(node, said("a record that is stored whole is not followed; store its fields"))
            return replace(base, ndim=base.ndim - picked)
        self.site(node, base, op)
        return None

    # -- fields

    def part(self, node: ast.Attribute | ast.Subscript, base: Ref, name: str, op: str) -> Ref:
        """Note a site where a field of one record is reached; return the view of a field of many."""
        if isinstance(base, TupleRef) and name in base.names:
            return base.items[base.names.index(name)]
        if not isinstance(base, ArrayRef):
            if op == "store":
                raise self.unsupported(
                    node, said("it is not known which array {code} is", code=ast.unparse(node.value))
                )
            return None
        found = field_of(base.dtype, name)
        if found is None:
            raise self.unsupported(
                node,
                said(
                    "{code}: {array} has no field {field}",
                    code=ast.unparse(node),
                    array=" or ".join(base.origins),
                    field=name,
                ),
            )
        if not found.aligned:
            raise self.unsupported(node, not_aligned(name))
        view = replace(base, ndim=base.ndim + len(found.shape), dtype=found.dtype)
        if view.ndim or view.is_record:
            return view
        self.site(node, view, op)
        return None

    # -- sites

    def site(self, node: ast.expr, array: ArrayRef, op: str, into: dict[ast.AST, int] | None = None) -> None:
        """Note a site at a node."""
        if array.space not in ("shared", "global"):
            return
        dtype = array.dtype
        if dtype.itemsize not in (1, 2, 4, 8, 16):
            raise self.unsupported(
                node, said("elements of {bytes} bytes ({dtype}) are not followed", bytes=dtype.itemsize, dtype=dtype)
            )
        if len(self.walk.sites) == _MAX_SITES:
            raise self.unsupported(node, said("a kernel of more than {most} accesses is not followed", most=_MAX_SITES))
        if into is None:
            into = self.tree.loads if op == "load" else self.tree.stores
        into[node] = len(self.walk.sites)
        self.walk.sites.append(
            Site(
                line=node.lineno,
                column=node.col_offset,
                end_line=node.end_lineno or node.lineno,
                end_column=node.end_col_offset or node.col_offset,
                source=source_text(self.function.source, node),
                array=" or ".join(array.origins),
                space="shared" if array.space == "shared" else "global",
                op=op,
                width=dtype.itemsize,
                dtype=dtype.name,
                function=self.function.name,
                calls=self.calls,
                file="" if self.function.file == self.walk.file else self.function.file,
            )
        )


def field_name(node: ast.expr) -> str | None:
    """Return the name of a field that an index gives."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
