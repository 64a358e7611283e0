"""The sites of a kernel: every place that loads, stores or updates an element of a shared or global array."""

from smemviz.frontends.numba.sites.table import ArrayRef, Declaration, Ref, SiteTable, SiteTree, TupleRef, argument_ref
from smemviz.frontends.numba.sites.walk import find_sites

__all__ = ["ArrayRef", "Declaration", "Ref", "SiteTable", "SiteTree", "TupleRef", "argument_ref", "find_sites"]
