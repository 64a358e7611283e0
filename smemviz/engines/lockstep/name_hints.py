"""What a name that is not known may have been meant to be, and what to write for what Numba does not compile."""

import cmath
import difflib
import math
import re
import sys
from collections.abc import Iterable

import numpy as np

from smemviz.messages import english

_ALIKE = 0.85  # of 1: one letter too many or too few in a name of four
# What Numba compiles for CUDA of Python's functions and operators, of NumPy's and of arrays' methods and lockstep does
# not execute.
_COMPILED = {
    "builtins": ("enumerate", "hasattr", "isinstance", "iter", "next", "type", "zip"),
    "cmath": ("polar", "rect"),
    "numpy": (
        *("angle", "array_equal", "atleast_1d", "atleast_2d", "atleast_3d", "dsplit", "finfo", "iinfo", "imag"),
        *("iscomplexobj", "isnat", "isrealobj", "isscalar", "nan_to_num", "real", "shape", "sinc", "size"),
    ),
    "array": ("fill",),
    "numba": ("literal_unroll", "literally"),
    "numba.typed": (),
}
_VECTOR = re.compile(r"cuda\.u?(char|short|int|long|longlong|float|double)(\d+x)?[1-4]")
_AXES = ("cuda.threadIdx", "cuda.blockIdx", "cuda.blockDim", "cuda.gridDim")
_REFUSED = (
    *_AXES,
    *("cuda.shared", "cuda.local", "cuda.const", "math", "cuda", "cuda.cg", "cuda.atomic", "cuda.fp16"),
    *("random", "time"),
)
_OF_PYTHON = sys.stdlib_module_names - {"builtins", "cmath", "math", "operator"}
_REAL = {"math": math, "cmath": cmath, "numpy": np}  # what is in these is no mistake, whether or not it is executed
_MANY = ("cuda.libdevice.", "cuda.fp16.")  # most of these names differ by a letter from another real one

_OF_MATH = (
    *("ceil", "copysign", "exp", "exp2", "expm1", "fabs", "floor", "fmod", "isfinite", "isinf", "ldexp", "log1p"),
    *("nextafter", "sqrt", "trunc"),
)
_INSTEAD = {f"numpy.{name}": f"math.{name}(...)" for name in _OF_MATH} | {
    "numpy.absolute": "abs(x)",
    "numpy.add": "x + y",
    "numpy.around": "round(x)",
    "numpy.cbrt": "cuda.cbrt(x)",
    "numpy.clip": "min(max(x, low), high)",
    "numpy.floor_divide": "x // y",
    "numpy.multiply": "x * y",
    "numpy.ndim": "a.ndim",
    "numpy.negative": "-x",
    "numpy.power": "x ** y",
    "numpy.reciprocal": "1 / x",
    "numpy.remainder": "x % y",
    "numpy.rint": "round(x)",
    "numpy.round": "round(x)",
    "numpy.sign": "(x > 0) - (x < 0)",
    "numpy.signbit": "x < 0",
    "numpy.square": "x * x",
    "numpy.subtract": "x - y",
    "numpy.where": "x if test else y",
    "numpy.float": "float(x)",
    "numpy.int": "int(x)",
    "math.cbrt": "cuda.cbrt(x)",
    "math.max": "max(x, y)",
    "math.min": "min(x, y)",
    "math.isqrt": "int(math.sqrt(x))",
    "array.take": "a[i]",
    "array.fill": "a[:] = x",
    "array.ravel": "a.reshape(-1)",
    "array.flatten": "a.reshape(-1)",
    "numba.prange": "range(...)",
    "numba.typed.Dict": "cuda.local.array(shape, dtype)",
    "numba.typed.List": "cuda.local.array(shape, dtype)",
}
_INSTEAD |= {
    "builtins.hasattr": english("True or False, as is known before the kernel runs"),
}
_INSTEAD |= dict.fromkeys((f"builtins.{name}" for name in ("all", "any", "next", "sorted")), english("a loop"))
_INSTEAD |= dict.fromkeys(
    (f"numpy.{name}" for name in ("amax", "amin", "arange", "cumsum", "diff", "dot", "max", "min", "sort")),
    english("a loop"),
)
_INSTEAD |= dict.fromkeys((f"builtins.{name}" for name in ("dict", "list", "set")), "cuda.local.array(shape, dtype)")
_INSTEAD |= dict.fromkeys(
    (f"numpy.{name}" for name in ("array", "empty", "full", "ones", "zeros", "empty_like", "ones_like", "zeros_like")),
    "cuda.local.array(shape, dtype)",
)


def neighbour(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelt one is most like, dots and all; None when it is like none."""
    module, _, last = name.rpartition(".")
    if name in _INSTEAD or name.startswith(_MANY) or (module in _REAL and hasattr(_REAL[module], last)):
        return None
    known = list(known)
    for spelling in known:
        if _letters(spelling) == _letters(name) or spelling == f"{name}_sync":
            return spelling
    modules = {spelling.rpartition(".")[0] for spelling in known}
    inside = {
        spelling.rpartition(".")[2] if module in modules else spelling: spelling
        for spelling in known
        if module not in modules or spelling.rpartition(".")[0] == module
    }
    own = last if module in modules else name
    swapped = [spelling for spelling in inside if len(own) > 2 and sorted(spelling) == sorted(own)]
    similar = swapped or difflib.get_close_matches(own, inside, n=1, cutoff=_ALIKE)
    return inside[similar[0]] if similar else None


def _letters(name: str) -> str:
    """Return a name as it would be in another spelling: atomicAdd is atomic.add, PI is pi."""
    return name.replace("_", "").replace(".", "").lower()


def is_none_of_numba(name: str) -> bool:
    """Tell whether a function, by its canonical name, is none that Numba compiles for CUDA."""
    module, _, last = name.rpartition(".")
    if module == "operator" or _VECTOR.fullmatch(name):
        return False
    if module in _COMPILED:
        return last not in _COMPILED[module]
    return module.startswith("numpy.") or module in _REFUSED or module.partition(".")[0] in _OF_PYTHON


def instead(name: str) -> str:
    """Return what to write for a function that Numba does not compile for CUDA, empty where nothing short is known."""
    module = name if name in _AXES else name.rpartition(".")[0]
    if module == "operator":
        return english("the operator itself")
    return f"{module}.x" if module in _AXES else _INSTEAD.get(name, english("a loop") if module == "array" else "")
