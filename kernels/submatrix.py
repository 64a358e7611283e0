"""A matrix product on flat arrays: an offset says where a sub-matrix begins, a row stride where it goes on.

Each matrix is one array of numbers, row after row, and from an element to the one below it is a row stride, as long as
a whole row. A sub-matrix needs no copy: it begins at an offset and has the row stride of the whole.
"""

import numpy as np
from numba import cuda, float32, uint32

M = 64
K = 64
N = 64
TILE = 16
A_STRIDE = K
B_STRIDE = N
C_STRIDE = N
STRIP = K + TILE  # a row of a's strip: TILE more keep the rows that a warp reads apart in other banks


@cuda.jit
def from_global_memory(c, a, b):
    """One thread per element of c: each loads a row of a and a column of b for itself."""
    column, row = cuda.grid(2)
    total = float32(0)
    k = 0
    while k < K:
        total += a[row * A_STRIDE + k] * b[k * B_STRIDE + column]
        k += 1
    c[row * C_STRIDE + column] = total


@cuda.jit(device=True)
def offset(stride, down, across):
    """Return where the tile begins that lies so many tiles down and across in a matrix of that row stride."""
    return down * TILE * stride + across * TILE


@cuda.jit
def by_sub_matrices(c, a, b):
    """Tile by tile: the threads of a block load each element of a sub-matrix once and share it."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx = uint32(cuda.threadIdx.x)
    ty = uint32(cuda.threadIdx.y)
    total = float32(0)
    for tile in range(K // TILE):
        a_tile[ty, tx] = a[offset(A_STRIDE, cuda.blockIdx.y, tile) + ty * A_STRIDE + tx]
        b_tile[ty, tx] = b[offset(B_STRIDE, tile, cuda.blockIdx.x) + ty * B_STRIDE + tx]
        cuda.syncthreads()
        k = 0
        while k < TILE:
            total += a_tile[ty, k] * b_tile[k, tx]
            k += 1
        cuda.syncthreads()
    c[offset(C_STRIDE, cuda.blockIdx.y, cuda.blockIdx.x) + ty * C_STRIDE + tx] = total


@cuda.jit
def by_whole_strips(c, a, b):
    """All tiles of a block at once, whole rows of a and columns of b: as many accesses, K // TILE times the memory."""
    a_strip = cuda.shared.array((TILE, STRIP), float32)
    b_strip = cuda.shared.array((K, TILE), float32)
    tx = uint32(cuda.threadIdx.x)
    ty = uint32(cuda.threadIdx.y)
    for tile in range(K // TILE):
        a_strip[ty, tile * TILE + tx] = a[offset(A_STRIDE, cuda.blockIdx.y, tile) + ty * A_STRIDE + tx]
        b_strip[tile * TILE + ty, tx] = b[offset(B_STRIDE, tile, cuda.blockIdx.x) + ty * B_STRIDE + tx]
    cuda.syncthreads()
    total = float32(0)
    k = 0
    while k < K:
        total += a_strip[ty, k] * b_strip[k, tx]
        k += 1
    c[offset(C_STRIDE, cuda.blockIdx.y, cuda.blockIdx.x) + ty * C_STRIDE + tx] = total


def main():
    """Multiply the same matrices with every kernel and compare with NumPy."""
    assert M % TILE == K % TILE == N % TILE == 0, "M, K and N have to be multiples of TILE"
    assert min(A_STRIDE - K, B_STRIDE - N, C_STRIDE - N) >= 0, "a row stride is at least as long as a row"
    rng = np.random.default_rng(0)
    a = np.zeros((M, A_STRIDE), np.float32)
    b = np.zeros((K, B_STRIDE), np.float32)
    a[:, :K] = rng.integers(-8, 9, (M, K))
    b[:, :N] = rng.integers(-8, 9, (K, N))
    expected = a[:, :K] @ b[:, :N]  # whole numbers, small enough to add up exactly in any order
    on_device = cuda.to_device(a.ravel()), cuda.to_device(b.ravel())
    grid, block = (N // TILE, M // TILE), (TILE, TILE)

    c = cuda.to_device(np.zeros(M * C_STRIDE, np.float32))
    from_global_memory[grid, block](c, *on_device)
    found = c.copy_to_host().reshape(M, C_STRIDE)[:, :N]
    assert np.array_equal(found, expected), "from_global_memory gave something else"

    c = cuda.to_device(np.zeros(M * C_STRIDE, np.float32))
    by_sub_matrices[grid, block](c, *on_device)
    found = c.copy_to_host().reshape(M, C_STRIDE)[:, :N]
    assert np.array_equal(found, expected), "by_sub_matrices gave something else"

    if (TILE * STRIP + K * TILE) * 4 <= 48 * 1024:  # more static shared memory has no block
        c = cuda.to_device(np.zeros(M * C_STRIDE, np.float32))
        by_whole_strips[grid, block](c, *on_device)
        found = c.copy_to_host().reshape(M, C_STRIDE)[:, :N]
        assert np.array_equal(found, expected), "by_whole_strips gave something else"


if __name__ == "__main__":
    main()
    print("submatrix.py: all three kernels agree with NumPy")
