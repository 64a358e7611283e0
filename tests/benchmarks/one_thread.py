"""What first steps look like: kernels of one thread that are nothing but loops, by their number."""

import numpy as np
from numba import cuda

NAMES = ["product", "bubble", "collatz", "histogram", "called"]
KERNEL = 0
SCALE = 1.0


@cuda.jit
def product(a, b, c):
    """Multiply two matrices."""
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


@cuda.jit
def bubble(values):
    """Sort."""
    n = values.shape[0]
    for i in range(n):
        for j in range(n - i - 1):
            if values[j] > values[j + 1]:
                t = values[j]
                values[j] = values[j + 1]
                values[j + 1] = t


@cuda.jit
def collatz(out, n):
    """Count the steps of each number."""
    for i in range(1, n):
        x = i
        steps = 0
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            steps += 1
        out[i] = steps


@cuda.jit
def histogram(values, bins):
    """Count by atomics."""
    for i in range(values.shape[0]):
        cuda.atomic.add(bins, values[i] % 16, 1)


@cuda.jit(device=True)
def drawn(x):
    """Return the next number."""
    if x % 2 == 0:
        return x // 2
    return (x * 1103515245 + 12345) % 2147483648


@cuda.jit
def called(out, n):
    """Draw numbers by a function."""
    x = 12345
    for i in range(n):
        x = drawn(x)
        out[i % 64] = x


def size(n, power=1):
    """Return a size for a share of the work."""
    return max(2, int(n * SCALE ** (1 / power)))


def main():
    """Run one kernel; returns what it computed."""
    rng = np.random.default_rng(0)
    match NAMES[KERNEL]:
        case "product":
            n = size(60, 3)
            out = np.zeros((n, n))
            product[1, 1](rng.random((n, n)), rng.random((n, n)), out)
        case "bubble":
            out = rng.random(size(450, 2), dtype=np.float32)
            bubble[1, 1](out)
        case "collatz":
            out = np.zeros(size(15_000), np.int64)
            collatz[1, 1](out, len(out))
        case "histogram":
            out = np.zeros(16, np.int32)
            histogram[1, 1](rng.integers(0, 1000, size(200_000), dtype=np.int32), out)
        case "called":
            out = np.zeros(64, np.int64)
            called[1, 1](out, size(50_000))
    return out
