"""Lane addresses per second of ``smemviz.wavefronts``: 10 million 4-byte requests, streamed in chunks.

    python tests/benchmarks/bench_wavefronts.py

The peer is what one would write with NumPy alone: sort the words of each request by bank, count the different ones.
Targets: 200 million lane addresses a second on 2 cores after warm-up, in less than 1 GB.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[2]))

from smemviz.model.counting.service import wavefronts

REQUESTS = 10_000_000
PEER_REQUESTS = 250_000
CHUNK = 125_000
LANE = np.arange(32)

Addresses = NDArray[np.int64]


def conflict_free(_: np.random.Generator) -> Addresses:
    return np.tile(LANE * 4, (CHUNK, 1))


def scattered(random: np.random.Generator) -> Addresses:
    return random.integers(0, 48 * 1024 // 4, (CHUNK, 32)) * 4


def column(_: np.random.Generator) -> Addresses:
    return np.tile(LANE * 128, (CHUNK, 1))


PATTERNS: dict[str, Callable[[np.random.Generator], Addresses]] = {
    "conflict-free": conflict_free,
    "random": scattered,
    "32-way": column,
}


def peer(addresses: Addresses) -> Addresses:
    word = addresses >> 2
    ordered = np.sort((word & 31) << 40 | word >> 5, axis=-1)
    new = np.ones(ordered.shape, bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    place = np.arange(len(ordered))[:, None] * 32 + (ordered >> 40)
    return np.bincount(place[new], minlength=32 * len(ordered)).reshape(-1, 32).max(axis=1)


def stream(pattern: Callable[[np.random.Generator], Addresses], requests: int) -> Iterator[Addresses]:
    random = np.random.default_rng(0)
    for _ in range(requests // CHUNK):
        yield pattern(random)


def rate(count: Callable[[Addresses], Addresses], chunks: Iterator[Addresses]) -> float:
    lanes, seconds = 0, 0.0
    for chunk in chunks:
        start = perf_counter()
        count(chunk)
        seconds += perf_counter() - start
        lanes += chunk.size
    return lanes / seconds


def ours(addresses: Addresses) -> Addresses:
    return wavefronts(addresses, 4)


def peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # kilobytes, on macOS bytes
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def main() -> None:
    start = perf_counter()
    ours(LANE * 4)
    print(f"first call, Numba's import and its compiling or its cache included: {perf_counter() - start:.2f} s")
    start = perf_counter()
    for _ in range(1000):
        ours(LANE * 4)
    print(f"one request: {(perf_counter() - start) * 1e3:.0f} us")

    rates = {name: rate(ours, stream(pattern, REQUESTS)) for name, pattern in PATTERNS.items()}
    print(f"{REQUESTS:,} requests of each pattern on {os.cpu_count()} cores, peak memory {peak_mb():.0f} MB")
    print(f"{'pattern':<14} {'smemviz':>14} {'sorting':>14} {'ratio':>7}   (lane addresses per second)")
    for name, pattern in PATTERNS.items():
        chunk = next(stream(pattern, CHUNK))
        np.testing.assert_array_equal(ours(chunk), peer(chunk))
        slow = rate(peer, stream(pattern, PEER_REQUESTS))
        print(f"{name:<14} {rates[name] / 1e6:>12.0f} M {slow / 1e6:>12.0f} M {rates[name] / slow:>6.1f}x")


if __name__ == "__main__":
    main()
