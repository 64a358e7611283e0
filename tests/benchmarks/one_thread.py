"""What first steps look like: one thread sorts an array, adds it up and multiplies two matrices."""

import numpy as np
from numba import cuda

N = 400
SIDE = 40


@cuda.jit
def in_order(values, sums):
    """Sort by bubbling up, then add up."""
    n = values.shape[0]
    for i in range(n):
        for j in range(n - i - 1):
            if values[j] > values[j + 1]:
                t = values[j]
                values[j] = values[j + 1]
                values[j + 1] = t
    total = 0.0
    for i in range(n):
        total += values[i]
        sums[i] = total


@cuda.jit
def product(a, b, c):
    """Multiply element by element."""
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


def main():
    """Sort, add up and multiply; returns sums and product, one behind the other."""
    rng = np.random.default_rng(0)
    values, sums = rng.random(N, dtype=np.float32), np.zeros(N)
    in_order[1, 1](values, sums)
    c = np.zeros((SIDE, SIDE))
    product[1, 1](rng.random((SIDE, SIDE)), rng.random((SIDE, SIDE)), c)
    return np.concatenate([sums, c.ravel()])
