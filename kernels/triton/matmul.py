"""A product of two matrices in Triton: tiles of halves, copied ahead of the dot that reads them.

Each tile is copied to shared memory asynchronously, a stage ahead, and read from there by ``ldmatrix`` in the order
that the tensor cores want. Both tiles are swizzled, so that neither copy nor read has a conflict.
"""

import torch
import triton
import triton.language as tl

M = 64
N = 64
K = 128
TILE = 32
DEPTH = 32
STAGES = 3
WARPS = 4


@triton.jit
def matmul(out, left, right, n, k, TILE: tl.constexpr, DEPTH: tl.constexpr):
    """Each program computes a square tile of the product."""
    row = tl.program_id(1) * TILE + tl.arange(0, TILE)
    column = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inner = tl.arange(0, DEPTH)
    lefts = left + row[:, None] * k + inner[None, :]
    rights = right + inner[:, None] * n + column[None, :]
    total = tl.zeros((TILE, TILE), tl.float32)
    for _ in range(0, k, DEPTH):
        a = tl.load(lefts)
        b = tl.load(rights)
        total = tl.dot(a, b, total)
        lefts += DEPTH
        rights += DEPTH * n
    tl.store(out + row[:, None] * n + column[None, :], total)


def main():
    """Launch it, and check what it leaves."""
    torch.manual_seed(0)
    left = torch.randn(M, K, device="cuda").to(torch.float16)
    right = torch.randn(K, N, device="cuda").to(torch.float16)
    out = torch.empty(M, N, device="cuda")
    grid = N // TILE, M // TILE
    matmul[grid](out, left, right, N, K, TILE=TILE, DEPTH=DEPTH, num_stages=STAGES, num_warps=WARPS)
    torch.testing.assert_close(out, left.float() @ right.float(), atol=1e-2, rtol=1e-3)


if __name__ == "__main__":
    main()
