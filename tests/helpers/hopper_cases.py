"""Launches of the small kernels of ``hopper_kernels``, and what NumPy says of their results."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.hopper_kernels import PRODUCTS, by_k, by_m, descriptor, image, swizzled

BYTES = 1 << 15


@dataclass(frozen=True, eq=False)
class TensorMap:
    """A tensor in global memory and the box that is copied: sizes in elements, the innermost first."""

    data: NDArray[Any]
    box: tuple[int, ...]
    swizzle: int = 16
    steps: tuple[int, ...] = ()
    nan: bool = False
    bf16: bool = False


@dataclass(frozen=True, eq=False)
class Case:
    """A launch; ``idle`` are arguments of one that leaves out what is measured. The first argument is the result."""

    label: str
    kernel: str
    given: tuple[Any, ...]
    out: NDArray[Any]
    idle: dict[int, int] = field(default_factory=dict)
    blocks: int = 1
    threads: int = 128
    shared: int = 0
    out_at: int = 0


def as_e4m3(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bits of small whole numbers as floats of 8 bits, 4 of them of the exponent."""
    return _as_float8(values, 3, 7)


def as_e5m2(values: NDArray[Any]) -> NDArray[np.uint8]:
    return _as_float8(values, 2, 15)


def _as_float8(values: NDArray[Any], fraction: int, bias: int) -> NDArray[np.uint8]:
    part, exponent = np.frexp(np.abs(values.astype(float)))
    bits = np.where(values == 0, 0, (exponent - 1 + bias) * 2**fraction + (part * 2 - 1) * 2**fraction)
    return (bits.astype(np.uint8) | (values < 0).astype(np.uint8) << 7).astype(np.uint8)


def as_bf16(values: NDArray[Any]) -> NDArray[np.uint16]:
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


STORED = {
    "f16": lambda v: v.astype(np.float16),
    "bf16": as_bf16,
    "tf32": lambda v: v.astype(np.float32),
    "e4m3": as_e4m3,
    "e5m2": as_e5m2,
    "s8": lambda v: v.astype(np.int8),
    "u8": lambda v: v.astype(np.uint8),
}


def operands(name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return A, 64 x k, and B, n x k, of whole numbers that every type has."""
    words = PRODUCTS[name][0].split(".")
    k = 4 * int(words[4].partition("k")[2])
    n = int(words[4][4:].partition("k")[0])
    random = np.random.default_rng(len(name) + k)
    low = 0 if words[-2] == "u8" else -4
    return random.integers(low, 4, (64, k)), random.integers(-4, 4, (n, k))


def product_case(name: str, width: int, first: int = 0, relative: bool = False) -> Case:
    """Return a multiplication of A and B, each in shared memory with one swizzle, from ``first`` on."""
    words = PRODUCTS[name][0].split(".")
    a, b = operands(name)
    flags = PRODUCTS[name][2].split(", ")
    transposed = [flag == "1" for flag in flags[3:]] if words[-1] == "f16" else []
    transposed = ([False, *transposed] if PRODUCTS[name][3] else transposed) or [False, False]
    data = np.zeros(BYTES, np.uint8)
    starts = []
    for matrix, kind, is_by_m, begin in zip((a, b), words[-2:], transposed, (first, 16384 + first), strict=True):
        stored = STORED[kind](matrix)
        size, rows, columns = stored.itemsize, *stored.shape
        at = (by_m if is_by_m else by_k)(rows, columns, size, width)
        if first and not relative:
            row, column = np.arange(rows)[:, None], np.arange(columns)[None, :] * size
            at = swizzled(first + column // width * rows * width + row * width + column % width, width) - first
        data |= image(stored, at, BYTES, begin)
        steps = []
        for step in range(4):
            if is_by_m:
                start, panel, group = step * columns // 4 * width, columns * width, 8 * width
                leading, stride = (group, panel) if width == 16 else (panel, group)
            else:
                inner = step * columns // 4 * size
                start, stride = inner // width * rows * width + inner % width, 8 * width
                leading = rows * 16 if width == 16 else 16
            more = (begin >> 7 & 7) << 49 if relative else 0
            steps.append(descriptor(begin + start, leading, stride, width) | more)
        starts.append(steps)
    described = np.array(list(zip(*starts, strict=True)), np.uint64)
    in_registers = _fragments(STORED[words[-2]](a)) if PRODUCTS[name][3] else np.zeros(1, np.uint32)
    label = f"{name} {width}B" + (f" at {first}" if first else "") + (", base offset" if relative else "")
    out = np.zeros((PRODUCTS[name][1], 128), np.uint32)
    return Case(label, name, (out, data, BYTES, described, 4, in_registers), out, {4: 0}, shared=BYTES)


def _fragments(a: NDArray[Any]) -> NDArray[np.uint32]:
    """Return A as registers hold it: four of each step of 16 columns, for 128 threads."""
    t = np.arange(128)
    rows = t // 32 * 16 + t % 32 // 4
    columns = t % 4 * 2
    registers = [
        np.stack([a[rows + 8 * (n % 2), 16 * s + columns + 8 * (n // 2) + i] for i in (0, 1)], axis=-1)
        for s in range(4)
        for n in range(4)
    ]
    return np.ascontiguousarray(np.stack(registers)).view(np.uint32)


def product_of(name: str) -> NDArray[np.uint32]:
    """Return what a multiplication leaves in registers, from NumPy."""
    words = PRODUCTS[name][0].split(".")
    a, b = operands(name)
    d = (-1 if name == "wgmma_negated" else 1) * (a @ b.T)
    registers, t = PRODUCTS[name][1], np.arange(128)
    row, column = t // 32 * 16 + t % 32 // 4, t % 4 * 2
    if words[5] == "f16":
        pairs = [
            np.stack([d[row + 8 * (n % 2), column + 8 * (n // 2) + i] for i in (0, 1)], axis=-1)
            for n in range(registers)
        ]
        return np.ascontiguousarray(np.stack(pairs).astype(np.float16)).view(np.uint32)[..., 0]
    kind = np.int32 if words[5] == "s32" else np.float32
    each = [d[row + 8 * (n % 4 // 2), column + 8 * (n // 4) + n % 2] for n in range(registers)]
    return np.stack(each).astype(kind).view(np.uint32)


def products() -> Iterator[Case]:
    """Give every multiplication that is tried."""
    for width in (128, 64, 32, 16):
        yield product_case("wgmma_f16_00", width)
        yield product_case("wgmma_f16_11", width)
    for name in ("wgmma_f16_01", "wgmma_f16_10", *list(PRODUCTS)[4:]):
        yield product_case(name, 128)
    for name in ("wgmma_tf32", "wgmma_e4m3", "wgmma_s8"):
        yield product_case(name, 32)
    for first in (128, 384, 512):
        yield product_case("wgmma_f16_00", 128, first)
        yield product_case("wgmma_f16_00", 128, first, relative=True)


def tensor_case(label: str, tensor: TensorMap, at: tuple[int, ...], nbytes: int = 0) -> Case:
    nbytes = nbytes or int(np.prod(tensor.box)) * tensor.data.itemsize
    if tensor.steps:
        nbytes = (
            int(np.prod([-(-b // s) for b, s in zip(tensor.box, tensor.steps, strict=True)])) * tensor.data.itemsize
        )
    out = np.zeros(nbytes, np.uint8)
    rank = len(tensor.box)
    given = (out, tensor, nbytes, 1, *at, *(0,) * (5 - rank))
    shared = 2 * nbytes + 1024  # rows may be further apart than they are long
    return Case(f"tensor_load_{rank} {label}", f"tensor_load_{rank}", given, out, {3: 0}, shared=shared)


def tensors() -> Iterator[Case]:
    """Give every tiled copy that is tried."""
    halves = np.arange(64 * 96, dtype=np.uint16).reshape(64, 96)
    for width, inner in ((128, 64), (64, 32), (32, 16), (16, 64)):
        tensor = TensorMap(halves, (inner, 32), width)
        yield tensor_case(f"{width}B", tensor, (16, 8))
        yield tensor_case(f"{width}B before", tensor, (-8, -4))
        yield tensor_case(f"{width}B beyond", tensor, (80, 50))
    yield tensor_case("128B narrow", TensorMap(halves, (40, 16), 128), (8, 8))
    yield tensor_case("128B narrow padded", TensorMap(halves, (40, 16), 128), (8, 8), 2048)
    yield tensor_case("16B narrow", TensorMap(halves, (24, 16)), (8, 8))
    yield tensor_case("64B narrow", TensorMap(halves, (8, 16), 64), (8, 8), 1024)
    yield tensor_case("nan f16", TensorMap(halves.view(np.float16), (64, 8), 128, nan=True), (64, 60))
    yield tensor_case("64B in steps", TensorMap(halves, (32, 32), 64, (1, 2)), (0, 1))
    words = np.arange(4096, dtype=np.uint32)
    yield tensor_case("words", TensorMap(words, (128,)), (64,))
    yield tensor_case("words", TensorMap(words.reshape(8, 16, 32), (32, 4, 2), 128), (0, 13, 7))
    yield tensor_case("words", TensorMap(words.reshape(4, 4, 8, 32), (16, 4, 2, 2), 64), (4, -1, 3, 1))
    yield tensor_case("words", TensorMap(words.reshape(4, 4, 4, 4, 16), (8, 2, 2, 2, 2), 32), (8, 1, 3, -1, 2))
    yield tensor_case("nan", TensorMap(words.astype(np.float32).reshape(64, 64), (32, 8), 128, nan=True), (48, 60))
    yield tensor_case("nan bf16", TensorMap(halves, (64, 8), 128, nan=True, bf16=True), (64, 60))
    for name in ("store", "reduce"):
        for width, at in ((128, (16, 8)), (16, (16, 8)), (128, (80, 50)), (64, (-8, 4)), (16, (-8, -4))):
            inner = width // 4 if width > 16 else 32
            target = TensorMap(np.ones((64, 96), np.uint32), (inner, 32), width)
            given = np.arange(32 * inner, dtype=np.uint32)
            yield Case(
                f"tensor_{name}_2 {width}B at {at[0]} {at[1]}",
                f"tensor_{name}_2",
                (given, target, given.nbytes, 1, *at),
                target.data,
                {3: 0},
                shared=given.nbytes + 1024,
                out_at=1,
            )
    out = np.zeros(2 * 4096, np.uint8)
    tensor = TensorMap(halves, (64, 32), 128)
    yield Case("multicast", "multicast", (out, tensor, 4096, 1, 16, 8), out, {3: 0}, 2, shared=4096 + 1024)


def bulks() -> Iterator[Case]:
    """Give the copies of plain bytes."""
    for nbytes in (16, 4096):
        given = np.random.default_rng(1).integers(0, 256, nbytes).astype(np.uint8)
        for name in ("load", "store"):
            out = np.zeros(nbytes, np.uint8)
            arguments = (out, given, nbytes, 1)
            yield Case(f"bulk_{name} {nbytes}", f"bulk_{name}", arguments, out, {3: 0}, shared=nbytes + 1024)
    sums = np.arange(1024, dtype=np.int32)
    given = np.random.default_rng(1).integers(0, 256, 4096).astype(np.uint8)
    yield Case("bulk_reduce 4096", "bulk_reduce", (sums, given, 4096, 1), sums, {3: 0}, shared=4096 + 1024)


def others() -> Iterator[Case]:
    """Give what lanes store as matrices, and what blocks of a cluster do in each other's memory."""
    for size in ("x1", "x2", "x4"):
        for trans in ("", "trans"):
            for stride in (16, 128, 144):
                out = np.zeros(8 * 144, np.uint32)
                name = f"stmatrix_{size}{trans}"
                yield Case(f"{name} {stride}", name, (out, stride, 1), out, {2: 0}, threads=32)
    out = np.zeros(32, np.uint32)
    yield Case("movmatrix", "movmatrix", (out,), out, threads=32)
    for what in range(6):
        for stride in (4, 128):
            out = np.zeros((8, 64), np.uint32)
            yield Case(f"cluster {what} {stride}", "cluster", (out, stride, what), out, {2: 0}, 8, 32)
    out = np.zeros((4, 4), np.uint32)
    yield Case("addresses", "addresses", (out,), out, {}, 4, 32)


def cases() -> Iterator[Case]:
    """Give all launches, with arrays of their own."""
    yield from products()
    yield from tensors()
    yield from bulks()
    yield from others()
