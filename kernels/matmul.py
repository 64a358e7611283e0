"""A matrix product, c = a b: from global memory alone, by way of tiles in shared memory, and up a ladder to cuBLAS.

Without tiles each thread loads a whole row and a whole column. With tiles a block loads each element once per tile and
its threads share it, so that global memory delivers TILE times less; which way a tile lies in shared memory then
decides whether its threads collide. Then shared memory is the bottleneck: on the ladder each thread computes several
results at once, which needs fewer and fewer loads for each of them.

Numba lets a negative index count from the end, and checks each index that might be one. Two habits spare that: thread
numbers are unsigned, and loops over k count with while, which lets the compiler see where a range begins.
"""

import numpy as np
from numba import cuda, float32, int32, uint32

M = 64
K = 64
N = 64
TILE = 32
DTYPE = float32
PITCH = TILE + 1

# The ladder: a block computes PANEL x PANEL elements of c, each thread RESULTS or RESULTS x RESULTS of them, and a tile
# is DEPTH columns of a or rows of b.
RESULTS = 8
PANEL = 64
DEPTH = 8
SIDE = PANEL // RESULTS
THREADS = SIDE * SIDE
LOADED = PANEL * DEPTH // THREADS

# 16 bytes are the most that one instruction loads. No type of Numba's is four floats, but complex128 is as wide; it is
# moved here and never computed with. VECTOR is how many elements it carries.
VECTOR = 16 // np.dtype(str(DTYPE)).itemsize
PANEL_VECTORS = PANEL // VECTOR
PANEL_PITCH = PANEL + VECTOR
PART_VECTORS = RESULTS // VECTOR
LOADED_VECTORS = LOADED // VECTOR


@cuda.jit
def naive(c, a, b):
    """One thread per element of c; neighbouring threads take neighbouring columns, which coalesces their loads."""
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = DTYPE(0)
        k = 0
        while k < a.shape[1]:
            total += a[row, k] * b[k, column]
            k += 1
        c[row, column] = total


@cuda.jit
def naive_swapped(c, a, b):
    """Neighbouring threads take neighbouring rows: every lane loads from, and stores to, a sector of its own."""
    row, column = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = DTYPE(0)
        k = 0
        while k < a.shape[1]:
            total += a[row, k] * b[k, column]
            k += 1
        c[row, column] = total


@cuda.jit
def naive_integer(c, a, b):
    """The product of integers with one thread per element of c."""
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = int32(0)
        k = 0
        while k < a.shape[1]:
            total += a[row, k] * b[k, column]
            k += 1
        c[row, column] = total


@cuda.jit
def tiled(c, a, b):
    """Tile by tile; M, K and N have to be multiples of TILE."""
    a_tile = cuda.shared.array((TILE, TILE), DTYPE)
    b_tile = cuda.shared.array((TILE, TILE), DTYPE)
    tx = uint32(cuda.threadIdx.x)
    ty = uint32(cuda.threadIdx.y)
    column, row = cuda.grid(2)
    total = DTYPE(0)
    for first in range(0, a.shape[1], TILE):
        a_tile[ty, tx] = a[row, first + tx]
        b_tile[ty, tx] = b[first + ty, column]
        cuda.syncthreads()
        k = 0
        while k < TILE:
            total += a_tile[ty, k] * b_tile[k, tx]
            k += 1
        cuda.syncthreads()
    c[row, column] = total


@cuda.jit
def tiled_swapped(c, a, b):
    """The same tiles, filled with threadIdx.x as the row: neighbouring threads load from rows of their own.

    What a warp loads from global memory is not coalesced, and its stores walk down the columns of the tiles. M, K and N
    have to be multiples of TILE.
    """
    a_tile = cuda.shared.array((TILE, TILE), DTYPE)
    b_tile = cuda.shared.array((TILE, TILE), DTYPE)
    tx = uint32(cuda.threadIdx.x)
    ty = uint32(cuda.threadIdx.y)
    first_row = cuda.blockIdx.y * TILE
    first_column = cuda.blockIdx.x * TILE
    total = DTYPE(0)
    for first in range(0, a.shape[1], TILE):
        a_tile[tx, ty] = a[first_row + tx, first + ty]
        b_tile[tx, ty] = b[first + tx, first_column + ty]
        cuda.syncthreads()
        k = 0
        while k < TILE:
            total += a_tile[ty, k] * b_tile[k, tx]
            k += 1
        cuda.syncthreads()
    c[first_row + ty, first_column + tx] = total


@cuda.jit
def tiled_dynamic(c, a, b):
    """Tile by tile in dynamic shared memory, where both tiles are parts of one array."""
    tiles = cuda.shared.array(0, DTYPE)
    tx = uint32(cuda.threadIdx.x)
    ty = uint32(cuda.threadIdx.y)
    b_begins = TILE * TILE
    column, row = cuda.grid(2)
    total = DTYPE(0)
    for first in range(0, a.shape[1], TILE):
        tiles[ty * TILE + tx] = a[row, first + tx]
        tiles[b_begins + ty * TILE + tx] = b[first + ty, column]
        cuda.syncthreads()
        k = 0
        while k < TILE:
            total += tiles[ty * TILE + k] * tiles[b_begins + k * TILE + tx]
            k += 1
        cuda.syncthreads()
    c[row, column] = total


@cuda.jit
def tiled_any(c, a, b):
    """Tiles that reach over an edge are filled up with zeros, so that M, K and N may be anything."""
    a_tile = cuda.shared.array((TILE, TILE), DTYPE)
    b_tile = cuda.shared.array((TILE, TILE), DTYPE)
    tx = uint32(cuda.threadIdx.x)
    ty = uint32(cuda.threadIdx.y)
    column, row = cuda.grid(2)
    total = DTYPE(0)
    for first in range(0, a.shape[1], TILE):
        a_tile[ty, tx] = a[row, first + tx] if row < a.shape[0] and first + tx < a.shape[1] else DTYPE(0)
        b_tile[ty, tx] = b[first + ty, column] if first + ty < b.shape[0] and column < b.shape[1] else DTYPE(0)
        cuda.syncthreads()
        k = 0
        while k < TILE:
            total += a_tile[ty, k] * b_tile[k, tx]
            k += 1
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def tiled_integer(c, a, b):
    """The product of integers, for any M, K and N."""
    a_tile = cuda.shared.array((TILE, TILE), int32)
    b_tile = cuda.shared.array((TILE, TILE), int32)
    tx = uint32(cuda.threadIdx.x)
    ty = uint32(cuda.threadIdx.y)
    column, row = cuda.grid(2)
    total = int32(0)
    for first in range(0, a.shape[1], TILE):
        a_tile[ty, tx] = a[row, first + tx] if row < a.shape[0] and first + tx < a.shape[1] else int32(0)
        b_tile[ty, tx] = b[first + ty, column] if first + ty < b.shape[0] and column < b.shape[1] else int32(0)
        cuda.syncthreads()
        k = 0
        while k < TILE:
            total += a_tile[ty, k] * b_tile[k, tx]
            k += 1
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def tiled_unbounded(c, a, b):
    """A mistake to find: the loads stop at the edges, the last store does not.

    Where N is no multiple of TILE, the threads beyond the right edge store into the next row, over what belongs there;
    those below the last row store behind the matrix.
    """
    a_tile = cuda.shared.array((TILE, TILE), int32)
    b_tile = cuda.shared.array((TILE, TILE), int32)
    tx = uint32(cuda.threadIdx.x)
    ty = uint32(cuda.threadIdx.y)
    column, row = cuda.grid(2)
    total = int32(0)
    for first in range(0, a.shape[1], TILE):
        a_tile[ty, tx] = a[row, first + tx] if row < a.shape[0] and first + tx < a.shape[1] else int32(0)
        b_tile[ty, tx] = b[first + ty, column] if first + ty < b.shape[0] and column < b.shape[1] else int32(0)
        cuda.syncthreads()
        k = 0
        while k < TILE:
            total += a_tile[ty, k] * b_tile[k, tx]
            k += 1
        cuda.syncthreads()
    c[row, column] = total


@cuda.jit
def tiled_transposed(c, a, b):
    """The tile of a stored transposed: the stores of a warp walk down a column, all in one bank."""
    a_tile = cuda.shared.array((TILE, TILE), DTYPE)
    b_tile = cuda.shared.array((TILE, TILE), DTYPE)
    tx = uint32(cuda.threadIdx.x)
    ty = uint32(cuda.threadIdx.y)
    column, row = cuda.grid(2)
    total = DTYPE(0)
    for first in range(0, a.shape[1], TILE):
        a_tile[tx, ty] = a[row, first + tx] if row < a.shape[0] and first + tx < a.shape[1] else DTYPE(0)
        b_tile[ty, tx] = b[first + ty, column] if first + ty < b.shape[0] and column < b.shape[1] else DTYPE(0)
        cuda.syncthreads()
        k = 0
        while k < TILE:
            total += a_tile[k, ty] * b_tile[k, tx]
            k += 1
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def tiled_transposed_padded(c, a, b):
    """The transposed tile with one word more in each row than it needs: the column becomes a diagonal."""
    a_tile = cuda.shared.array((TILE, PITCH), DTYPE)
    b_tile = cuda.shared.array((TILE, TILE), DTYPE)
    tx = uint32(cuda.threadIdx.x)
    ty = uint32(cuda.threadIdx.y)
    column, row = cuda.grid(2)
    total = DTYPE(0)
    for first in range(0, a.shape[1], TILE):
        a_tile[tx, ty] = a[row, first + tx] if row < a.shape[0] and first + tx < a.shape[1] else DTYPE(0)
        b_tile[ty, tx] = b[first + ty, column] if first + ty < b.shape[0] and column < b.shape[1] else DTYPE(0)
        cuda.syncthreads()
        k = 0
        while k < TILE:
            total += a_tile[k, ty] * b_tile[k, tx]
            k += 1
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def tiled_transposed_swizzled(c, a, b):
    """The transposed tile with its columns mixed by row: no word more, and no conflict; TILE is a power of two.

    The bound of its loop is one that the compiler does not know, and so it does not unroll it. Unrolled, the loop keeps
    all the mixed columns in registers: with TILE = 32 that is 64 a thread instead of 32, a multiprocessor has room for
    one block instead of two, and products of 4096 x 4096 take longer. With TILE = 8 and 16 it is faster unrolled.
    """
    a_tile = cuda.shared.array((TILE, TILE), DTYPE)
    b_tile = cuda.shared.array((TILE, TILE), DTYPE)
    tx = uint32(cuda.threadIdx.x)
    ty = uint32(cuda.threadIdx.y)
    column, row = cuda.grid(2)
    total = DTYPE(0)
    for first in range(0, a.shape[1], TILE):
        a_tile[tx, ty ^ tx] = a[row, first + tx] if row < a.shape[0] and first + tx < a.shape[1] else DTYPE(0)
        b_tile[ty, tx] = b[first + ty, column] if first + ty < b.shape[0] and column < b.shape[1] else DTYPE(0)
        cuda.syncthreads()
        k = 0
        while k < min(TILE, a.shape[1] - first):
            total += a_tile[k, ty ^ k] * b_tile[k, tx]
            k += 1
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def register_1d(c, a, b):
    """RESULTS results per thread, below each other: an element of b, once loaded, serves them all.

    M, K and N have to be multiples of TILE, and TILE one of RESULTS.
    """
    a_tile = cuda.shared.array((TILE, TILE), DTYPE)
    b_tile = cuda.shared.array((TILE, TILE), DTYPE)
    sums = cuda.local.array(RESULTS, DTYPE)
    tx = uint32(cuda.threadIdx.x)
    ty = uint32(cuda.threadIdx.y)
    apart = TILE // RESULTS
    first_row = cuda.blockIdx.y * TILE
    column = cuda.blockIdx.x * TILE + tx
    for i in range(RESULTS):
        sums[i] = 0
    for first in range(0, a.shape[1], TILE):
        for i in range(RESULTS):
            y = i * apart + ty
            a_tile[y, tx] = a[first_row + y, first + tx]
            b_tile[y, tx] = b[first + y, column]
        cuda.syncthreads()
        k = 0
        while k < TILE:
            b_element = b_tile[k, tx]
            for i in range(RESULTS):
                sums[i] += a_tile[i * apart + ty, k] * b_element
            k += 1
        cuda.syncthreads()
    for i in range(RESULTS):
        c[first_row + i * apart + ty, column] = sums[i]


@cuda.jit
def register_2d(c, a, b):
    """RESULTS x RESULTS results per thread: 2 RESULTS loads from shared memory serve RESULTS * RESULTS products.

    M and N have to be multiples of PANEL, K of DEPTH. A thread's results lie SIDE apart, so that neighbouring threads
    load neighbouring words.
    """
    a_tile = cuda.shared.array((PANEL, DEPTH), DTYPE)
    b_tile = cuda.shared.array((DEPTH, PANEL), DTYPE)
    sums = cuda.local.array((RESULTS, RESULTS), DTYPE)
    a_part = cuda.local.array(RESULTS, DTYPE)
    b_part = cuda.local.array(RESULTS, DTYPE)
    tx = uint32(cuda.threadIdx.x)
    ty = uint32(cuda.threadIdx.y)
    t = ty * SIDE + tx
    first_row = cuda.blockIdx.y * PANEL
    first_column = cuda.blockIdx.x * PANEL
    for i in range(RESULTS):
        for j in range(RESULTS):
            sums[i, j] = 0
    for first in range(0, a.shape[1], DEPTH):
        for i in range(LOADED):
            n = i * THREADS + t
            a_tile[n // DEPTH, n % DEPTH] = a[first_row + n // DEPTH, first + n % DEPTH]
            b_tile[n // PANEL, n % PANEL] = b[first + n // PANEL, first_column + n % PANEL]
        cuda.syncthreads()
        k = 0
        while k < DEPTH:
            for i in range(RESULTS):
                a_part[i] = a_tile[i * SIDE + ty, k]
                b_part[i] = b_tile[k, i * SIDE + tx]
            for i in range(RESULTS):
                for j in range(RESULTS):
                    sums[i, j] += a_part[i] * b_part[j]
            k += 1
        cuda.syncthreads()
    for i in range(RESULTS):
        for j in range(RESULTS):
            c[first_row + i * SIDE + ty, first_column + j * SIDE + tx] = sums[i, j]


@cuda.jit
def vector_loads(c, a, b):
    """VECTOR elements per load; the tile of a is stored transposed, so that a thread's rows lie side by side there.

    M and N have to be multiples of PANEL, K of DEPTH. A row of a's tile is one vector longer than it needs to be, so
    that the stores, which walk down its columns, do not collide.
    """
    a_tile = cuda.shared.array((DEPTH, PANEL_PITCH), DTYPE)
    b_tile = cuda.shared.array((DEPTH, PANEL_VECTORS), np.complex128)
    sums = cuda.local.array((RESULTS, RESULTS), DTYPE)
    a_part = cuda.local.array(RESULTS, DTYPE)
    b_part = cuda.local.array(RESULTS, DTYPE)
    passing = cuda.local.array(VECTOR, DTYPE)
    a_vectors = a.view(np.complex128)
    b_vectors = b.view(np.complex128)
    c_vectors = c.view(np.complex128)
    a_tile_vectors = a_tile.view(np.complex128)
    a_part_vectors = a_part.view(np.complex128)
    b_part_vectors = b_part.view(np.complex128)
    passing_vector = passing.view(np.complex128)
    sums_vectors = sums.view(np.complex128)
    tx = uint32(cuda.threadIdx.x)
    ty = uint32(cuda.threadIdx.y)
    t = ty * SIDE + tx
    first_row = cuda.blockIdx.y * PANEL
    first_column = cuda.blockIdx.x * PANEL_VECTORS
    for i in range(RESULTS):
        for j in range(RESULTS):
            sums[i, j] = 0
    for first in range(0, a.shape[1], DEPTH):
        for i in range(LOADED_VECTORS):
            n = i * THREADS + t
            y = n // (DEPTH // VECTOR)
            x = n % (DEPTH // VECTOR)
            passing_vector[0] = a_vectors[first_row + y, first // VECTOR + x]
            for j in range(VECTOR):
                a_tile[x * VECTOR + j, y] = passing[j]
            y = n // PANEL_VECTORS
            x = n % PANEL_VECTORS
            b_tile[y, x] = b_vectors[first + y, first_column + x]
        cuda.syncthreads()
        k = 0
        while k < DEPTH:
            for i in range(PART_VECTORS):
                a_part_vectors[i] = a_tile_vectors[k, i * SIDE + ty]
                b_part_vectors[i] = b_tile[k, i * SIDE + tx]
            for i in range(RESULTS):
                for j in range(RESULTS):
                    sums[i, j] += a_part[i] * b_part[j]
            k += 1
        cuda.syncthreads()
    for i in range(RESULTS):
        row = first_row + (i // VECTOR * SIDE + ty) * VECTOR + i % VECTOR
        for j in range(PART_VECTORS):
            c_vectors[row, first_column + j * SIDE + tx] = sums_vectors[i, j]


@cuda.jit
def double_buffered(c, a, b):
    """Two tiles of each matrix: while a block multiplies one pair, the next is on its way from global memory.

    M and N have to be multiples of PANEL, K of DEPTH. One barrier per tile is enough: who stores the next pair has
    passed the barrier that follows the last use of its place.
    """
    a_tiles = cuda.shared.array((2, DEPTH, PANEL_PITCH), DTYPE)
    b_tiles = cuda.shared.array((2, DEPTH, PANEL_VECTORS), np.complex128)
    sums = cuda.local.array((RESULTS, RESULTS), DTYPE)
    a_part = cuda.local.array(RESULTS, DTYPE)
    b_part = cuda.local.array(RESULTS, DTYPE)
    a_next = cuda.local.array((LOADED_VECTORS, VECTOR), DTYPE)
    b_next = cuda.local.array(LOADED_VECTORS, np.complex128)
    a_vectors = a.view(np.complex128)
    b_vectors = b.view(np.complex128)
    c_vectors = c.view(np.complex128)
    a_tiles_vectors = a_tiles.view(np.complex128)
    a_part_vectors = a_part.view(np.complex128)
    b_part_vectors = b_part.view(np.complex128)
    a_next_vectors = a_next.view(np.complex128)
    sums_vectors = sums.view(np.complex128)
    tx = uint32(cuda.threadIdx.x)
    ty = uint32(cuda.threadIdx.y)
    t = ty * SIDE + tx
    first_row = cuda.blockIdx.y * PANEL
    first_column = cuda.blockIdx.x * PANEL_VECTORS
    for i in range(RESULTS):
        for j in range(RESULTS):
            sums[i, j] = 0
    for i in range(LOADED_VECTORS):
        n = i * THREADS + t
        a_next_vectors[i, 0] = a_vectors[first_row + n // (DEPTH // VECTOR), n % (DEPTH // VECTOR)]
        b_next[i] = b_vectors[n // PANEL_VECTORS, first_column + n % PANEL_VECTORS]
    now = 0
    for following in range(DEPTH, a.shape[1] + DEPTH, DEPTH):
        for i in range(LOADED_VECTORS):
            n = i * THREADS + t
            for j in range(VECTOR):
                a_tiles[now, n % (DEPTH // VECTOR) * VECTOR + j, n // (DEPTH // VECTOR)] = a_next[i, j]
            b_tiles[now, n // PANEL_VECTORS, n % PANEL_VECTORS] = b_next[i]
        cuda.syncthreads()
        if following < a.shape[1]:
            for i in range(LOADED_VECTORS):
                n = i * THREADS + t
                x = following // VECTOR + n % (DEPTH // VECTOR)
                a_next_vectors[i, 0] = a_vectors[first_row + n // (DEPTH // VECTOR), x]
                b_next[i] = b_vectors[following + n // PANEL_VECTORS, first_column + n % PANEL_VECTORS]
        k = 0
        while k < DEPTH:
            for i in range(PART_VECTORS):
                a_part_vectors[i] = a_tiles_vectors[now, k, i * SIDE + ty]
                b_part_vectors[i] = b_tiles[now, k, i * SIDE + tx]
            for i in range(RESULTS):
                for j in range(RESULTS):
                    sums[i, j] += a_part[i] * b_part[j]
            k += 1
        now = 1 - now
    for i in range(RESULTS):
        row = first_row + (i // VECTOR * SIDE + ty) * VECTOR + i % VECTOR
        for j in range(PART_VECTORS):
            c_vectors[row, first_column + j * SIDE + tx] = sums_vectors[i, j]


@cuda.jit
def paired_lanes(c, a, b):
    """A warp covers 8 x 4 threads so that lanes 1 apart load the same of a, and lanes 2 apart the same of b.

    Loads of 16 bytes are served 8 lanes at a time, or 16 where every lane shares its address with such a neighbour: a
    request costs 2 wavefronts instead of 4. M and N have to be multiples of PANEL, K of DEPTH.
    """
    a_tiles = cuda.shared.array((2, DEPTH, PANEL_PITCH), DTYPE)
    b_tiles = cuda.shared.array((2, DEPTH, PANEL_VECTORS), np.complex128)
    sums = cuda.local.array((RESULTS, RESULTS), DTYPE)
    a_part = cuda.local.array(RESULTS, DTYPE)
    b_part = cuda.local.array(RESULTS, DTYPE)
    a_next = cuda.local.array((LOADED_VECTORS, VECTOR), DTYPE)
    b_next = cuda.local.array(LOADED_VECTORS, np.complex128)
    a_vectors = a.view(np.complex128)
    b_vectors = b.view(np.complex128)
    c_vectors = c.view(np.complex128)
    a_tiles_vectors = a_tiles.view(np.complex128)
    a_part_vectors = a_part.view(np.complex128)
    b_part_vectors = b_part.view(np.complex128)
    a_next_vectors = a_next.view(np.complex128)
    sums_vectors = sums.view(np.complex128)
    t = uint32(cuda.threadIdx.y * SIDE + cuda.threadIdx.x)
    warp = t // 32
    lane = t % 32
    tx = warp % (SIDE // 8) * 8 + (lane & 1 | lane >> 1 & 6)
    ty = warp // (SIDE // 8) * 4 + (lane >> 1 & 1 | lane >> 3 & 2)
    first_row = cuda.blockIdx.y * PANEL
    first_column = cuda.blockIdx.x * PANEL_VECTORS
    for i in range(RESULTS):
        for j in range(RESULTS):
            sums[i, j] = 0
    for i in range(LOADED_VECTORS):
        n = i * THREADS + t
        a_next_vectors[i, 0] = a_vectors[first_row + n // (DEPTH // VECTOR), n % (DEPTH // VECTOR)]
        b_next[i] = b_vectors[n // PANEL_VECTORS, first_column + n % PANEL_VECTORS]
    now = 0
    for following in range(DEPTH, a.shape[1] + DEPTH, DEPTH):
        for i in range(LOADED_VECTORS):
            n = i * THREADS + t
            for j in range(VECTOR):
                a_tiles[now, n % (DEPTH // VECTOR) * VECTOR + j, n // (DEPTH // VECTOR)] = a_next[i, j]
            b_tiles[now, n // PANEL_VECTORS, n % PANEL_VECTORS] = b_next[i]
        cuda.syncthreads()
        if following < a.shape[1]:
            for i in range(LOADED_VECTORS):
                n = i * THREADS + t
                x = following // VECTOR + n % (DEPTH // VECTOR)
                a_next_vectors[i, 0] = a_vectors[first_row + n // (DEPTH // VECTOR), x]
                b_next[i] = b_vectors[following + n // PANEL_VECTORS, first_column + n % PANEL_VECTORS]
        k = 0
        while k < DEPTH:
            for i in range(PART_VECTORS):
                a_part_vectors[i] = a_tiles_vectors[now, k, i * SIDE + ty]
                b_part_vectors[i] = b_tiles[now, k, i * SIDE + tx]
            for i in range(RESULTS):
                for j in range(RESULTS):
                    sums[i, j] += a_part[i] * b_part[j]
            k += 1
        now = 1 - now
    for i in range(RESULTS):
        row = first_row + (i // VECTOR * SIDE + ty) * VECTOR + i % VECTOR
        for j in range(PART_VECTORS):
            c_vectors[row, first_column + j * SIDE + tx] = sums_vectors[i, j]


def main():
    """Multiply the same matrices with every kernel and compare with NumPy."""
    assert TILE & (TILE - 1) == 0, "TILE has to be a power of two"
    assert PANEL % RESULTS == RESULTS % VECTOR == 0, "PANEL has to be a multiple of RESULTS, and that of VECTOR"
    assert DEPTH % VECTOR == 0, "DEPTH has to be a multiple of VECTOR"
    assert PANEL * DEPTH % (THREADS * VECTOR) == 0, "a tile has to be the same number of vectors for every thread"
    assert SIDE % 8 == 0, "a warp of paired_lanes is 8 threads wide: PANEL has to be a multiple of 8 RESULTS"
    rng = np.random.default_rng(0)
    numbers = np.dtype(str(DTYPE))
    a = rng.integers(-8, 9, (M, K)).astype(numbers)
    b = rng.integers(-8, 9, (K, N)).astype(numbers)
    expected = a @ b  # whole numbers, small enough to add up exactly in any order
    on_device = cuda.to_device(a), cuda.to_device(b)
    down, along, across = whole(M, TILE), whole(K, TILE), whole(N, TILE)
    block = (TILE, TILE)
    grid = (across // TILE, down // TILE)

    c = cuda.to_device(np.zeros_like(expected))
    naive[grid, block](c, *on_device)
    assert np.array_equal(c.copy_to_host(), expected), "naive gave something else"

    c = cuda.to_device(np.zeros_like(expected))
    naive_swapped[grid[::-1], block](c, *on_device)
    assert np.array_equal(c.copy_to_host(), expected), "naive_swapped gave something else"

    integers = cuda.to_device(a.astype(np.int32)), cuda.to_device(b.astype(np.int32))
    c = cuda.to_device(np.zeros((M, N), np.int32))
    naive_integer[grid, block](c, *integers)
    assert np.array_equal(c.copy_to_host(), expected), "naive_integer gave something else"

    # These three know nothing of edges, so the matrices are filled up with zeros to whole tiles.
    a_filled = cuda.to_device(np.pad(a, ((0, down - M), (0, along - K))))
    b_filled = cuda.to_device(np.pad(b, ((0, along - K), (0, across - N))))

    c = cuda.to_device(np.zeros((down, across), numbers))
    tiled[grid, block](c, a_filled, b_filled)
    assert np.array_equal(c.copy_to_host()[:M, :N], expected), "tiled gave something else"

    c = cuda.to_device(np.zeros((down, across), numbers))
    tiled_swapped[grid, block](c, a_filled, b_filled)
    assert np.array_equal(c.copy_to_host()[:M, :N], expected), "tiled_swapped gave something else"

    c = cuda.to_device(np.zeros((down, across), numbers))
    tiled_dynamic[grid, block, 0, 2 * TILE * TILE * numbers.itemsize](c, a_filled, b_filled)
    assert np.array_equal(c.copy_to_host()[:M, :N], expected), "tiled_dynamic gave something else"

    c = cuda.to_device(np.zeros_like(expected))
    tiled_any[grid, block](c, *on_device)
    assert np.array_equal(c.copy_to_host(), expected), "tiled_any gave something else"

    c = cuda.to_device(np.zeros((M, N), np.int32))
    tiled_integer[grid, block](c, *integers)
    assert np.array_equal(c.copy_to_host(), expected), "tiled_integer gave something else"

    # What it stores behind its matrix lands in this array's own room, not in somebody else's memory.
    c = cuda.to_device(np.zeros((down + 1) * across, np.int32))[: M * N].reshape(M, N)
    tiled_unbounded[grid, block](c, *integers)
    if (down, across) == (M, N):
        assert np.array_equal(c.copy_to_host(), expected), "tiled_unbounded gave something else"

    c = cuda.to_device(np.zeros_like(expected))
    tiled_transposed[grid, block](c, *on_device)
    assert np.array_equal(c.copy_to_host(), expected), "tiled_transposed gave something else"

    c = cuda.to_device(np.zeros_like(expected))
    tiled_transposed_padded[grid, block](c, *on_device)
    assert np.array_equal(c.copy_to_host(), expected), "tiled_transposed_padded gave something else"

    c = cuda.to_device(np.zeros_like(expected))
    tiled_transposed_swizzled[grid, block](c, *on_device)
    assert np.array_equal(c.copy_to_host(), expected), "tiled_transposed_swizzled gave something else"

    # The ladder has no edges either, and its first step takes tiles of whole RESULTS.
    if TILE % RESULTS == 0:
        c = cuda.to_device(np.zeros((down, across), numbers))
        register_1d[grid, (TILE, TILE // RESULTS)](c, a_filled, b_filled)
        assert np.array_equal(c.copy_to_host()[:M, :N], expected), "register_1d gave something else"

    down, along, across = whole(M, PANEL), whole(K, DEPTH), whole(N, PANEL)
    a_filled = cuda.to_device(np.pad(a, ((0, down - M), (0, along - K))))
    b_filled = cuda.to_device(np.pad(b, ((0, along - K), (0, across - N))))
    block = (SIDE, SIDE)
    grid = (across // PANEL, down // PANEL)

    c = cuda.to_device(np.zeros((down, across), numbers))
    register_2d[grid, block](c, a_filled, b_filled)
    assert np.array_equal(c.copy_to_host()[:M, :N], expected), "register_2d gave something else"

    c = cuda.to_device(np.zeros((down, across), numbers))
    vector_loads[grid, block](c, a_filled, b_filled)
    assert np.array_equal(c.copy_to_host()[:M, :N], expected), "vector_loads gave something else"

    c = cuda.to_device(np.zeros((down, across), numbers))
    double_buffered[grid, block](c, a_filled, b_filled)
    assert np.array_equal(c.copy_to_host()[:M, :N], expected), "double_buffered gave something else"

    c = cuda.to_device(np.zeros((down, across), numbers))
    paired_lanes[grid, block](c, a_filled, b_filled)
    assert np.array_equal(c.copy_to_host()[:M, :N], expected), "paired_lanes gave something else"


def whole(size, piece):
    """Round a size up to whole pieces."""
    return (size + piece - 1) // piece * piece


if __name__ == "__main__":
    main()
    print("matmul.py: all kernels agree with NumPy")
