"""Device functions that another kernel file imports."""

from numba import cuda


@cuda.jit(device=True)
def mirrored(words, i, n):
    return words[n - 1 - i]
