"""The roofs of a card, measured: bytes per second of its memories, operations per second of its float32 units.

Each kernel does one thing and nothing else, at a size at which the start of the launch does not show.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda, float32, uint64

from smemviz.engines.gpu.gpu_recorder import quiet
from smemviz.measure.time.conditions import conditions
from smemviz.measure.time.replays import replayed
from smemviz.messages import english
from smemviz.recordings.sweep import Ceiling

_THREADS = 256
_LARGE_BYTES = 1 << 30  # many times any L2 cache
_L2_SHARE = 4  # this part of the L2 cache is read over and over: it stays in, and no L1 cache holds it
_PASSES = 64
_SHARED_WORDS = 4096
_ROUNDS = 4096
_UNROLLED = 16

# Indices without a sign, which Numba need not look at for being negative: the n-th access of a thread, and so on.
_1, _2, _3, _4, _5, _6, _7, _8 = (np.uint64(n * _THREADS) for n in range(1, 9))
_WARP, _HALF, _FURTHER = np.uint64(32), np.uint64(_SHARED_WORDS // 2 - 1), np.uint64(37)


def measure_ceilings() -> tuple[Ceiling, ...]:
    """Measure every ceiling of the card."""
    with quiet():
        return tuple(measure(name) for name, measure in _MEASURES.items())


@cuda.jit  # type: ignore[untyped-decorator]
def _copy(out: Any, source: Any) -> None:
    first = cuda.blockIdx.x * 4 * _THREADS + cuda.threadIdx.x
    a = source[first]
    b = source[first + _THREADS]
    c = source[first + 2 * _THREADS]
    d = source[first + 3 * _THREADS]
    out[first] = a
    out[first + _THREADS] = b
    out[first + 2 * _THREADS] = c
    out[first + 3 * _THREADS] = d


@cuda.jit  # type: ignore[untyped-decorator]
def _read(out: Any, source: Any, piece: Any, passes: Any) -> None:
    """Add up an array as often as asked, each pass some blocks further on: no block meets its own again soon."""
    total = 0.0
    begins = uint64(cuda.blockIdx.x) * piece
    for _ in range(passes):
        i = begins + uint64(cuda.threadIdx.x)
        while i < begins + piece:
            a = source[i] + source[i + _1]
            b = source[i + _2] + source[i + _3]
            c = source[i + _4] + source[i + _5]
            d = source[i + _6] + source[i + _7]
            total += (a + b) + (c + d)
            i += _8
        begins += _FURTHER * piece
        if begins >= uint64(source.size):
            begins -= uint64(source.size)
    if total == 0.5:  # never: the array holds zeros, which the compiler does not know
        out[0] = total


@cuda.jit  # type: ignore[untyped-decorator]
def _read_shared(out: Any, rounds: Any) -> None:
    words = cuda.shared.array(_SHARED_WORDS, float32)
    for i in range(cuda.threadIdx.x, _SHARED_WORDS, _THREADS):
        words[i] = float32(0)
    cuda.syncthreads()
    a = float32(0)
    b = float32(0)
    i = uint64(cuda.threadIdx.x)
    for _ in range(rounds):
        a += words[i]
        b += words[i + _1]
        a += words[i + _2]
        b += words[i + _3]
        a += words[i + _4]
        b += words[i + _5]
        a += words[i + _6]
        b += words[i + _7]
        i = (i + _WARP) & _HALF
    if a + b == float32(0.5):
        out[0] = a


@cuda.jit  # type: ignore[untyped-decorator]
def _multiply_add(out: Any, x: Any, rounds: Any) -> None:
    """Eight chains of a = a x + a: a register twice, so that the three operands never meet in one register bank."""
    a = float32(cuda.threadIdx.x)
    b = a + x
    c = b + x
    d = c + x
    e = d + x
    f = e + x
    g = f + x
    h = g + x
    for _ in range(rounds):
        for _ in range(_UNROLLED):
            a = a * x + a
            b = b * x + b
            c = c * x + c
            d = d * x + d
            e = e * x + e
            f = f * x + f
            g = g * x + g
            h = h * x + h
    if a + b + c + d + e + f + g + h == float32(0.5):
        out[0] = a


def _multiprocessors() -> int:
    return int(cuda.get_current_device().MULTIPROCESSOR_COUNT)


def _ceiling(name: str, kind: Any, amount: float, how: str, issue: Callable[[Any], None]) -> Ceiling:
    issue(cuda.default_stream())  # compiles
    replay_spread = replayed(issue).spread
    units = amount * 1e6
    return Ceiling(
        name,
        kind,
        units / replay_spread.median,
        units / replay_spread.high,
        units / replay_spread.low,
        how,
        conditions(),
    )


def _memory_copy(name: str) -> Ceiling:
    source = cuda.to_device(np.zeros(_LARGE_BYTES // 8))
    out = cuda.device_array_like(source)
    blocks = source.size // (4 * _THREADS)
    how = english("1 GiB copied to another, 8 bytes per lane; bytes read and written")
    return _ceiling(name, "bytes", 2 * source.nbytes, how, lambda stream: _copy[blocks, _THREADS, stream](out, source))


def _memory_read(name: str) -> Ceiling:
    source, out = cuda.to_device(np.zeros(_LARGE_BYTES // 8)), cuda.device_array(1)
    blocks = 1 << 14
    piece = np.uint64(source.size // blocks)
    how = english("1 GiB added up, 8 bytes per lane")
    return _ceiling(
        name, "bytes", source.nbytes, how, lambda stream: _read[blocks, _THREADS, stream](out, source, piece, 1)
    )


def _l2_read(name: str) -> Ceiling:
    blocks, turn = 8 * _multiprocessors(), 8 * _THREADS
    elements = int(cuda.get_current_device().L2_CACHE_SIZE) // _L2_SHARE // 8
    piece = max(elements // blocks // turn, 1) * turn
    source, out = cuda.to_device(np.zeros(piece * blocks)), cuda.device_array(1)
    how = english(
        "{size:.1f} MiB added up {times} times, each time by other multiprocessors",
        size=source.nbytes / 2**20,
        times=_PASSES,
    )
    arguments = (out, source, np.uint64(piece), _PASSES)
    amount = _PASSES * source.nbytes
    return _ceiling(name, "bytes", amount, how, lambda stream: _read[blocks, _THREADS, stream](*arguments))


def _shared_read(name: str) -> Ceiling:
    blocks, out = 8 * _multiprocessors(), cuda.device_array(1, np.float32)
    amount = blocks * _THREADS * _ROUNDS * 8 * 4
    how = english("every multiprocessor loads 4 bytes per lane without a conflict, and adds them up")
    return _ceiling(name, "bytes", amount, how, lambda stream: _read_shared[blocks, _THREADS, stream](out, _ROUNDS))


def _float32_rate(name: str) -> Ceiling:
    blocks, out = 8 * _multiprocessors(), cuda.device_array(1, np.float32)
    amount = blocks * _THREADS * _ROUNDS * _UNROLLED * 8 * 2
    how = english(
        "eight independent multiply-adds per thread, over and over in registers; a multiply-add is two operations"
    )
    x = np.float32(1e-6)
    return _ceiling(
        name, "operations", amount, how, lambda stream: _multiply_add[blocks, _THREADS, stream](out, x, _ROUNDS)
    )


_MEASURES: dict[str, Callable[[str], Ceiling]] = {
    "memory copy": _memory_copy,
    "memory read": _memory_read,
    "L2 read": _l2_read,
    "shared read": _shared_read,
    "float32": _float32_rate,
}
