"""Reverse an array by way of shared memory, declared statically and dynamically.

Both kernels make the same requests, and neither has a conflict: a warp that reads backwards still finds every lane
in a bank of its own. The two declarations differ only in who states the size, the kernel or the launch.
"""

import numpy as np
from numba import cuda, int32

N = 64


@cuda.jit
def static_reverse(values):
    """Reverse N values in place; the kernel states the size of the shared array."""
    held = cuda.shared.array(N, int32)
    i = cuda.threadIdx.x

    held[i] = values[i]
    cuda.syncthreads()
    values[i] = held[N - 1 - i]


@cuda.jit
def dynamic_reverse(values):
    """Reverse the values in place; the launch states the size of the shared array."""
    held = cuda.shared.array(0, int32)
    i = cuda.threadIdx.x
    last = values.shape[0] - 1

    held[i] = values[i]
    cuda.syncthreads()
    values[i] = held[last - i]


def main():
    """Launch both kernels on one block and compare what they left with NumPy."""
    values = np.arange(N, dtype=np.int32)

    device_values = cuda.to_device(values)
    static_reverse[1, N](device_values)
    assert np.array_equal(device_values.copy_to_host(), values[::-1]), "static_reverse left something else"

    device_values = cuda.to_device(values)
    dynamic_reverse[1, N, 0, N * 4](device_values)
    assert np.array_equal(device_values.copy_to_host(), values[::-1]), "dynamic_reverse left something else"


if __name__ == "__main__":
    main()
    print("reverse.py: both kernels agree with NumPy")
