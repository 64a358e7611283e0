"""Adding up an array: which threads add which elements decides who collides.

Every kernel leaves one sum per block. Neighbours are added in steps of 1, 2, 4 and so on; if the threads that work are
kept close together, their elements lie ever further apart, and in one bank. Adding the upper half to the lower half
keeps both close together. Within a warp shuffles hand values from lane to lane, by no memory at all.
"""

import numpy as np
from numba import cuda, int32

N = 1024
THREADS = 256
WARPS = THREADS // 32
EVERY_LANE = 0xFFFFFFFF


@cuda.jit
def neighbours_in_global_memory(sums, values):
    """Neighbours first, in place, in global memory."""
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * THREADS + t
    step = 1
    while step < THREADS:
        if t % (2 * step) == 0:
            values[i] += values[i + step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        sums[cuda.blockIdx.x] = values[i]


@cuda.jit
def neighbours_by_spread_threads(sums, values):
    """Neighbours first; ever fewer threads of every warp work."""
    held = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    held[t] = values[cuda.blockIdx.x * THREADS + t]
    cuda.syncthreads()
    step = 1
    while step < THREADS:
        if t % (2 * step) == 0:
            held[t] += held[t + step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        sums[cuda.blockIdx.x] = held[0]


@cuda.jit
def neighbours_by_close_threads(sums, values):
    """Neighbours first; the first threads work, on elements that lie ever further apart."""
    held = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    held[t] = values[cuda.blockIdx.x * THREADS + t]
    cuda.syncthreads()
    step = 1
    while step < THREADS:
        i = 2 * step * t
        if i < THREADS:
            held[i] += held[i + step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        sums[cuda.blockIdx.x] = held[0]


@cuda.jit
def halves(sums, values):
    """The upper half to the lower half, again and again."""
    held = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    held[t] = values[cuda.blockIdx.x * THREADS + t]
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            held[t] += held[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = held[0]


@cuda.jit
def shuffles(sums, values):
    """Halves within each warp, from register to register; shared memory only carries one sum per warp.

    Sums of Numba's integers have 64 bits: int32 brings them back to what one shuffle moves.
    """
    held = cuda.shared.array(WARPS, int32)
    t = cuda.threadIdx.x
    total = values[cuda.blockIdx.x * THREADS + t]
    step = 16
    while step > 0:
        total = int32(total + cuda.shfl_down_sync(EVERY_LANE, total, step))
        step //= 2
    if t % 32 == 0:
        held[t // 32] = total
    cuda.syncthreads()
    if t < 32:
        total = held[t] if t < WARPS else int32(0)
        step = 16
        while step > 0:
            total = int32(total + cuda.shfl_down_sync(EVERY_LANE, total, step))
            step //= 2
        if t == 0:
            sums[cuda.blockIdx.x] = total


@cuda.jit
def halves_of_two_loads(sums, values):
    """Each thread adds two elements as it loads them, so that no thread of the first round is idle: half the blocks."""
    held = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 2 * THREADS + t
    held[t] = values[i] + values[i + THREADS]
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            held[t] += held[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = held[0]


def main():
    """Add up the same array with every kernel and compare with NumPy."""
    assert THREADS in (32, 64, 128, 256, 512, 1024), "THREADS has to be a power of two from 32 to 1024"
    blocks = (N + THREADS - 1) // THREADS
    values = np.zeros(blocks * THREADS, np.int32)
    values[:N] = np.arange(N)
    expected = values.reshape(blocks, THREADS).sum(axis=1)

    sums = cuda.to_device(np.zeros(blocks, np.int32))
    neighbours_in_global_memory[blocks, THREADS](sums, cuda.to_device(values))
    assert np.array_equal(sums.copy_to_host(), expected), "neighbours_in_global_memory added up something else"

    sums = cuda.to_device(np.zeros(blocks, np.int32))
    neighbours_by_spread_threads[blocks, THREADS](sums, cuda.to_device(values))
    assert np.array_equal(sums.copy_to_host(), expected), "neighbours_by_spread_threads added up something else"

    sums = cuda.to_device(np.zeros(blocks, np.int32))
    neighbours_by_close_threads[blocks, THREADS](sums, cuda.to_device(values))
    assert np.array_equal(sums.copy_to_host(), expected), "neighbours_by_close_threads added up something else"

    sums = cuda.to_device(np.zeros(blocks, np.int32))
    halves[blocks, THREADS](sums, cuda.to_device(values))
    assert np.array_equal(sums.copy_to_host(), expected), "halves added up something else"

    sums = cuda.to_device(np.zeros(blocks, np.int32))
    shuffles[blocks, THREADS](sums, cuda.to_device(values))
    assert np.array_equal(sums.copy_to_host(), expected), "shuffles added up something else"

    pairs = (blocks + 1) // 2
    even = np.zeros(2 * pairs * THREADS, np.int32)
    even[:N] = np.arange(N)
    sums = cuda.to_device(np.zeros(pairs, np.int32))
    halves_of_two_loads[pairs, THREADS](sums, cuda.to_device(even))
    expected = even.reshape(pairs, 2 * THREADS).sum(axis=1)
    assert np.array_equal(sums.copy_to_host(), expected), "halves_of_two_loads added up something else"


if __name__ == "__main__":
    main()
    print("reduce.py: all six kernels agree with NumPy")
