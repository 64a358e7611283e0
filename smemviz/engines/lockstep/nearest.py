"""What a name that is not known may have been meant to be."""

from __future__ import annotations

import cmath
import difflib
import math
from collections.abc import Iterable

_ALIKE = 0.85  # of 1: one letter too many or too few in a name of four
# What Numba compiles for CUDA of Python's functions and operators and lockstep does not execute.
_COMPILED = (
    *("sum", "isinstance", "ord", "hasattr", "range", "tuple", "slice", "next", "iter", "type"),
    *("getitem", "setitem", "is_", "contains"),
)
_REAL = {"math": math, "cmath": cmath}  # what is in these is no mistake, whether or not it is executed
_MANY = ("cuda.libdevice.", "cuda.fp16.")  # most of these names differ by a letter from another real one


def neighbour(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelt one is most like, dots and all; None when it is like none."""
    module, _, last = name.rpartition(".")
    if name.startswith(_MANY) or (module in _REAL and hasattr(_REAL[module], last)):
        return None
    modules = {one.rpartition(".")[0] for one in known}
    inside = {
        one.rpartition(".")[2] if module in modules else one: one
        for one in known
        if module not in modules or one.rpartition(".")[0] == module
    }
    found = difflib.get_close_matches(last if module in modules else name, inside, n=1, cutoff=_ALIKE)
    return inside[found[0]] if found else None


def is_none_of_numba(name: str) -> bool:
    """Tell whether a function, by its canonical name, is none that Numba compiles for CUDA."""
    module, _, last = name.rpartition(".")
    if module in ("builtins", "operator"):
        return last not in _COMPILED
    return module in ("math", "cmath", "cuda", "cuda.cg", "cuda.atomic", "random", "time")
