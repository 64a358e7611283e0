"""Measure what Numba's operators and conversions give on this GPU at the edges of their types.

    python tests/gpu/measure_operators.py tests/data/h200_operators.npz

The file holds the edge values of each type (``edges int32``) and what came out: ``int32 + float32`` for every pair of
edge values, ``float32 > int8`` for conversions, ``round float32`` for functions. ``test_lockstep_typing.py`` holds
lockstep against it.
"""

import itertools
import sys

import numpy as np

EDGES = {
    "i": [0, 1, -1, 2, -2, 3, 5, -7, 63, 64, 70, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)],
    "u": [0, 1, 2, 3, 7, 63, 64, 70, 2**31, 2**32 - 1, 2**63, 2**64 - 1],
    "f": [0.0, -0.0, 1.0, -1.5, 2.5, 3.5, -2.5, 1e10, -3.75, np.inf, -np.inf, np.nan, 0.1, 1e30, -1e30, 300.7, -0.5],
}
PAIRS = [
    ("int64", "int64"),
    ("uint64", "uint64"),
    ("int32", "int32"),
    ("int32", "uint32"),
    ("int64", "uint64"),
    ("int32", "uint64"),
    ("float32", "float32"),
    ("float64", "float64"),
    ("float32", "int32"),
    ("int32", "float32"),
    ("int16", "float32"),
    ("uint32", "float32"),
    ("float64", "int64"),
]
SYMBOLS = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "<", "=="]
SOURCES = ["int32", "int64", "uint32", "uint64", "float16", "float32", "float64"]
TARGETS = ["int8", "int32", "int64", "uint8", "uint32", "uint64", "float32", "float64"]
FUNCTIONS = ["-", "~", "abs", "round"]


def edges(dtype):
    """Return the edge values that a type holds."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array(EDGES["f"], dtype)
    info = np.iinfo(dtype)
    return np.array([x for x in EDGES[dtype.kind] if info.min <= x <= info.max], dtype)


def operands(one, other):
    """Return every pair of edge values as two arrays."""
    return tuple(np.array(side) for side in zip(*itertools.product(edges(one), edges(other)), strict=True))


def measure(expression, *arrays):
    """Return what an expression of ``a[i]`` and ``b[i]`` gives on the device, in the type Numba gives it."""
    from numba import cuda, from_dtype

    inner = ", ".join("ab"[: len(arrays)])
    scope = {"cuda": cuda, "np": np}
    exec(f"def f({inner}):\n    return {expression.replace('[i]', '')}\n", scope)
    types = tuple(from_dtype(array.dtype) for array in arrays)
    found = cuda.compile(scope["f"], types, device=True)[1]
    out = np.zeros(len(arrays[0]), "bool" if str(found) == "bool" else str(found))
    exec(
        f"def kernel({inner}, out):\n    i = cuda.grid(1)\n    if i < out.size:\n        out[i] = {expression}\n", scope
    )
    cuda.jit(scope["kernel"])[-(-len(out) // 64), 64](*arrays, out)
    return out


def main(path):
    """Measure everything and write it."""
    from numba.core.errors import NumbaError

    found = {f"edges {dtype}": edges(dtype) for dtype in sorted({*itertools.chain(*PAIRS), *SOURCES})}
    for one, other in PAIRS:
        a, b = operands(one, other)
        for symbol in SYMBOLS:
            try:
                found[f"{one} {symbol} {other}"] = measure(f"a[i] {symbol} b[i]", a, b)
            except NumbaError:
                continue  # there is no such operator
    for source in SOURCES:
        for target in TARGETS:
            found[f"{source} > {target}"] = measure(f"np.{target}(a[i])", edges(source))
        for function in FUNCTIONS:
            try:
                found[f"{function} {source}"] = measure(f"{function}(a[i])", edges(source))
            except NumbaError:
                continue
    a, b = operands("float32", "float32")
    for function in ("min", "max"):
        found[f"{function} float32"] = measure(f"{function}(a[i], b[i])", a, b)
    np.savez_compressed(path, **found)


if __name__ == "__main__":
    main(sys.argv[1])
