"""What cuBLAS and cuRAND do for a program, done by NumPy on the memory of the device."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.cpp_host.memory import DeviceMemory

_FAILED = {"cublas": 13, "curand": 201}  # their statuses for an execution that failed
_BFLOAT16 = 14
_DTYPES = {0: "f4", 1: "f8", 2: "f2", 3: "i1", 8: "u1", 10: "i4", _BFLOAT16: "u2"}  # by CUDA's number of a type
Array = NDArray[Any]


class _OutsideError(Exception):
    """A library was given an address of which not all is allocated."""


class Libraries:
    """The functions of the libraries; each takes numbers, which are values and addresses, and may return one."""

    def __init__(self, memory: DeviceMemory) -> None:
        self._memory = memory
        self._random: dict[float, np.random.Generator] = {}
        self._blas: dict[str, Callable[..., float | None]] = {
            "gemm": self._gemm, "gemv": self._gemv, "ger": self._ger, "geam": self._geam, "axpy": self._axpy,
            "scal": self._scal, "copy": self._copy, "dot": self._dot, "nrm2": self._nrm2, "asum": self._asum,
            "amax": self._amax,
        }  # fmt: skip

    def call(self, name: str, numbers: NDArray[np.float64]) -> tuple[int, float]:
        """Do what a function does; return the status, 0 for success, and the result of one that has a result."""
        values = [int(n) if n.is_integer() else n for n in numbers.tolist()]
        try:
            if name in self._blas:
                return 0, float(self._blas[name](*values) or 0)
            self._draw(name, *values)
        except _OutsideError:
            return _FAILED["cublas" if name in self._blas else "curand"], 0.0
        return 0, 0.0

    # -- memory

    def _bytes(self, address: int, nbytes: int, *, written: bool = False) -> NDArray[np.uint8]:
        found = self._memory.bytes_at(address, nbytes, written=written)
        if found is None:
            raise _OutsideError
        return found

    def _matrix(self, kind: int, address: int, rows: int, columns: int, pitch: int, *, written: bool = False) -> Array:
        """Return a view of a matrix that is stored column by column, ``pitch`` elements from one to the next."""
        dtype = np.dtype(_DTYPES[kind])
        if not rows or not columns:
            return np.zeros((rows, columns), dtype)
        data = self._bytes(address, ((columns - 1) * pitch + rows) * dtype.itemsize, written=written).view(dtype)
        strides = (dtype.itemsize, pitch * dtype.itemsize)
        matrix: Array = np.lib.stride_tricks.as_strided(data, (rows, columns), strides)
        return matrix

    def _vector(self, kind: int, address: int, count: int, step: int, *, written: bool = False) -> Array:
        column: Array = self._matrix(kind, address, 1, count, abs(step), written=written)[0]
        return column if step > 0 else column[::-1]

    # -- cuBLAS, its arguments in its order behind the types

    def _gemm(self, *given: float) -> None:
        a_kind, b_kind, c_kind, a_turned, b_turned, m, n, k = (int(value) for value in given[:8])
        alpha, a, a_pitch, a_step, b, b_pitch, b_step, beta, c, c_pitch, c_step, count = given[8:]
        for number in range(int(count)):
            at = [
                int(start) + number * int(step) * np.dtype(_DTYPES[kind]).itemsize
                for start, step, kind in ((a, a_step, a_kind), (b, b_step, b_kind), (c, c_step, c_kind))
            ]
            left = self._turned(a_kind, at[0], m, k, int(a_pitch), a_turned)
            right = self._turned(b_kind, at[1], k, n, int(b_pitch), b_turned)
            into = self._matrix(c_kind, at[2], m, n, int(c_pitch), written=True)
            _store(into, c_kind, _sum(alpha, _product(left, right, c_kind), beta, into, c_kind))

    def _turned(self, kind: int, address: int, rows: int, columns: int, pitch: int, turned: int) -> Array:
        if turned:
            return _loaded(self._matrix(kind, address, columns, rows, pitch), kind).T
        return _loaded(self._matrix(kind, address, rows, columns, pitch), kind)

    def _gemv(self, kind: int, turned: int, m: int, n: int, alpha: float, a: int, pitch: int, *rest: float) -> None:
        x, x_step, beta, y, y_step = rest
        matrix = self._matrix(kind, a, m, n, pitch)
        matrix = matrix.T if turned else matrix
        vector = self._vector(kind, int(x), matrix.shape[1], int(x_step))
        into = self._vector(kind, int(y), matrix.shape[0], int(y_step), written=True)
        _store(into, kind, _sum(alpha, matrix @ vector, beta, into, kind))

    def _ger(self, kind: int, m: int, n: int, alpha: float, x: int, dx: int, y: int, dy: int, a: int, lda: int) -> None:
        product = np.outer(self._vector(kind, x, m, dx), self._vector(kind, y, n, dy))
        into = self._matrix(kind, a, m, n, lda, written=True)
        _store(into, kind, _sum(alpha, product, 1, into, kind))

    def _geam(self, kind: int, a_turned: int, b_turned: int, m: int, n: int, *rest: float) -> None:
        alpha, a, lda, beta, b, ldb, c, ldc = rest
        left = self._turned(kind, int(a), m, n, int(lda), a_turned) if alpha else np.zeros((m, n))
        right = self._turned(kind, int(b), m, n, int(ldb), b_turned) if beta else np.zeros((m, n))
        into = self._matrix(kind, int(c), m, n, int(ldc), written=True)
        _store(into, kind, _sum(alpha, left, beta, right, kind))

    def _axpy(self, kind: int, n: int, alpha: float, x: int, dx: int, y: int, dy: int) -> None:
        into = self._vector(kind, y, n, dy, written=True)
        _store(into, kind, _sum(alpha, self._vector(kind, x, n, dx), 1, into, kind))

    def _scal(self, kind: int, n: int, alpha: float, x: int, dx: int) -> None:
        into = self._vector(kind, x, n, dx, written=True)
        _store(into, kind, into * into.dtype.type(alpha))

    def _copy(self, kind: int, n: int, x: int, dx: int, y: int, dy: int) -> None:
        self._vector(kind, y, n, dy, written=True)[:] = self._vector(kind, x, n, dx)

    def _dot(self, kind: int, n: int, x: int, dx: int, y: int, dy: int) -> float:
        return float(self._vector(kind, x, n, dx) @ self._vector(kind, y, n, dy))

    def _nrm2(self, kind: int, n: int, x: int, dx: int) -> float:
        return float(np.linalg.norm(self._vector(kind, x, n, dx)))

    def _asum(self, kind: int, n: int, x: int, dx: int) -> float:
        return float(np.abs(self._vector(kind, x, n, dx)).sum())

    def _amax(self, kind: int, n: int, x: int, dx: int) -> float:
        return float(np.argmax(np.abs(self._vector(kind, x, n, dx)))) + 1

    # -- cuRAND

    def _draw(self, how: str, generator: float, *given: float) -> None:
        if how == "seed":
            self._random[generator] = np.random.default_rng(int(given[0]))
            return
        to, count, size = (int(value) for value in given[:3])
        random = self._random[generator]
        into = self._bytes(to, count * size, written=True)
        dtype = np.dtype(f"f{size}")
        drawn: Array
        match how:
            case "integers":
                drawn = random.integers(0, 1 << 32, count, np.uint32)
            case "poisson":
                drawn = random.poisson(given[3], count).astype(np.uint32)
            case "normal":
                drawn = random.normal(given[3], given[4], count).astype(dtype)
            case "lognormal":
                drawn = random.lognormal(given[3], given[4], count).astype(dtype)
            case _:  # above 0 and at most 1
                drawn = 1 - random.random(count, np.float32 if size == 4 else np.float64)
        into[:] = drawn.view(np.uint8)


def _loaded(array: Array, kind: int) -> Array:
    """Return an array of numbers, of the precision that it is summed in."""
    if kind == _BFLOAT16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    if array.dtype == np.float16:
        return array.astype(np.float32)
    return array.astype(np.int32) if array.dtype.itemsize == 1 else array


def _product(left: Array, right: Array, kind: int) -> Array:
    if kind == 0 and left.dtype.kind == "i":
        left, right = left.astype(np.float32), right.astype(np.float32)
    product: Array = left @ right
    return product


def _sum(alpha: float, first: Array, beta: float, second: Array, kind: int) -> Array:
    total: Array = first * first.dtype.type(alpha)
    if beta:
        other = _loaded(second, kind)
        total = total + other * other.dtype.type(beta)
    return total


def _store(into: Array, kind: int, values: Array) -> None:
    if kind == _BFLOAT16:
        bits = values.astype(np.float32).view(np.uint32)
        values = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16  # to the nearest, ties to even
    into[...] = values.astype(into.dtype)
