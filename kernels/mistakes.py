"""Mistakes that are easily made, most of them with shared memory, one to a kernel.

Most of these kernels run on a device without a word and leave wrong numbers, now and then or always; one can wait for
ever, and three launches are not even begun. Run them where a mistake is found rather than made.
"""

import numpy as np
from numba import cuda, float32

WIDTH = 20
TILE = 16
SQUARE = 32
TALL = 33
THREADS = 64
BLOCKS = 2
STATIC_SIDE = 128
DYNAMIC_BYTES = 240 * 1024


@cuda.jit
def store_past_the_edge(c, a, b):
    """A tiled product whose loads are checked and whose store is not.

    WIDTH is no multiple of TILE, so the last blocks have threads beside the matrix. They load zeros, as they should,
    but store all the same: a column too many is the first of the next row, whose right result is lost, and a row too
    many is past the end of the array, in memory of whoever comes next.
    """
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for first in range(0, WIDTH, TILE):
        a_tile[ty, tx] = 0
        b_tile[ty, tx] = 0
        if row < WIDTH and first + tx < WIDTH:
            a_tile[ty, tx] = a[row, first + tx]
        if first + ty < WIDTH and column < WIDTH:
            b_tile[ty, tx] = b[first + ty, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()
    c[row, column] = total


@cuda.jit
def block_smaller_than_tile(c, a, b):
    """A tiled product in which each thread fills one element of the tiles, launched with blocks of 2 x 2.

    The block fills 4 of the 32 x 32 elements and then reads whole rows and columns. The others hold what an earlier
    block left there, which is zeros often enough for the mistake to pass a small test.
    """
    a_tile = cuda.shared.array((SQUARE, SQUARE), float32)
    b_tile = cuda.shared.array((SQUARE, SQUARE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    a_tile[ty, tx] = a[row, tx]
    b_tile[ty, tx] = b[ty, column]
    cuda.syncthreads()
    total = float32(0)
    for k in range(SQUARE):
        total += a_tile[ty, k] * b_tile[k, tx]
    c[row, column] = total


@cuda.jit
def corner_of_each_tile(c, a, b):
    """A tiled product whose threads find their places by the tile, launched with blocks of 2 x 2.

    It would need blocks of SQUARE x SQUARE. As it is, 4 of the 1,024 elements of each tile of c are stored, and those
    are wrong, for most of what is read from the tiles was never written. All the others keep what was there: where
    another kernel left the right product in c, this one seems right. Whoever fills c with NaN first sees it at once.
    """
    a_tile = cuda.shared.array((SQUARE, SQUARE), float32)
    b_tile = cuda.shared.array((SQUARE, SQUARE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    row = cuda.blockIdx.y * SQUARE + ty
    column = cuda.blockIdx.x * SQUARE + tx
    total = float32(0)
    for first in range(0, a.shape[1], SQUARE):
        a_tile[ty, tx] = a[row, first + tx] if row < a.shape[0] and first + tx < a.shape[1] else float32(0)
        b_tile[ty, tx] = b[first + ty, column] if first + ty < b.shape[0] and column < b.shape[1] else float32(0)
        cuda.syncthreads()
        for k in range(SQUARE):
            total += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def no_second_barrier(c, a, b):
    """A tiled product without the barrier at the end of a round.

    A warp that is ahead stores the next tile while another still multiplies with this one. Whether it happens depends
    on how the warps are scheduled, so the result is right on most days.
    """
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for first in range(0, a.shape[1], TILE):
        a_tile[ty, tx] = a[row, first + tx]
        b_tile[ty, tx] = b[first + ty, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += a_tile[ty, k] * b_tile[k, tx]
    c[row, column] = total


@cuda.jit
def barrier_in_a_branch(values):
    """Half of the threads wait at a barrier that the other half never reaches.

    What a device does then is left open: it may go on as if nothing were wrong, or wait for ever.
    """
    held = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    held[t] = values[t]
    if t < SQUARE:
        cuda.syncthreads()
        held[t] += 1
    values[t] = held[t]


@cuda.jit
def count_without_atomic(count, values):
    """Counts the values above a half with a plain += on one element.

    That is a load, an addition and a store. Threads that load the same number all store that number and 1, so most of
    the counts are lost: a device leaves 1 or a few.
    """
    i = cuda.grid(1)
    if values[i] > 0.5:
        count[0] += 1


@cuda.jit
def too_many_threads(values):
    """Fine in itself, but launched with blocks of SQUARE x TALL threads, more than the 1,024 that a block can have."""
    row, column = cuda.threadIdx.y, cuda.threadIdx.x
    values[row, column] = 0


@cuda.jit
def too_much_static_memory(values):
    """A tile of STATIC_SIDE x STATIC_SIDE: the compiler gives a block at most 48 KiB that are declared with a size."""
    tile = cuda.shared.array((STATIC_SIDE, STATIC_SIDE), float32)
    t = cuda.threadIdx.x
    tile[0, t] = values[t]
    cuda.syncthreads()
    values[t] = tile[0, SQUARE - 1 - t]


@cuda.jit
def too_much_dynamic_memory(values):
    """A launch that asks for DYNAMIC_BYTES of shared memory, more than any block is given."""
    held = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    held[t] = values[t]
    cuda.syncthreads()
    values[t] = held[SQUARE - 1 - t]


def main():
    """Launch each kernel; nothing is compared, for nothing that they leave can be relied on."""
    rng = np.random.default_rng(0)

    a = cuda.to_device(rng.random((WIDTH, WIDTH), dtype=np.float32))
    b = cuda.to_device(rng.random((WIDTH, WIDTH), dtype=np.float32))
    c = cuda.device_array((WIDTH, WIDTH), np.float32)
    blocks = -(-WIDTH // TILE)
    store_past_the_edge[(blocks, blocks), (TILE, TILE)](c, a, b)

    a = cuda.to_device(rng.random((SQUARE, SQUARE), dtype=np.float32))
    b = cuda.to_device(rng.random((SQUARE, SQUARE), dtype=np.float32))
    c = cuda.device_array((SQUARE, SQUARE), np.float32)
    block_smaller_than_tile[(2, 2), (2, 2)](c, a, b)
    # c holds the right product already, as if another kernel had left it.
    right = cuda.to_device(a.copy_to_host() @ b.copy_to_host())
    corner_of_each_tile[(SQUARE // 2, SQUARE // 2), (2, 2)](right, a, b)
    no_second_barrier[(SQUARE // TILE, SQUARE // TILE), (TILE, TILE)](c, a, b)

    values = cuda.to_device(rng.random(THREADS, dtype=np.float32))
    barrier_in_a_branch[1, THREADS](values)
    count = cuda.to_device(np.zeros(1, np.int32))
    count_without_atomic[BLOCKS, THREADS // BLOCKS](count, cuda.to_device(rng.random(THREADS, dtype=np.float32)))
    too_many_threads[1, (SQUARE, TALL)](cuda.device_array((TALL, SQUARE), np.float32))
    too_much_static_memory[1, SQUARE](values)
    too_much_dynamic_memory[1, SQUARE, 0, DYNAMIC_BYTES](values)


if __name__ == "__main__":
    print("mistakes.py: made to be looked at; on a device these kernels may do anything")
