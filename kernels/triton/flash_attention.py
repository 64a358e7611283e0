"""Attention in Triton without its matrix of scores in memory: a softmax that goes along with two products.

Keys and values come through shared memory tile by tile. The scores of a tile stay in registers, and their layout has to
change between the dot that makes them and the dot that reads them.
"""

import torch
import triton
import triton.language as tl

LENGTH = 128
HEAD = 32
TILE = 32
KEYS = 32
WARPS = 4


@triton.jit
def attention(out, queries, keys, values, length, scale, HEAD: tl.constexpr, TILE: tl.constexpr, KEYS: tl.constexpr):
    """Each program has a tile of queries and goes through all keys."""
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    feature = tl.arange(0, HEAD)
    q = tl.load(queries + row[:, None] * HEAD + feature[None, :])
    most = tl.full((TILE,), -float("inf"), tl.float32)
    weight = tl.zeros((TILE,), tl.float32)
    total = tl.zeros((TILE, HEAD), tl.float32)
    for first in range(0, length, KEYS):
        key = first + tl.arange(0, KEYS)
        k = tl.load(keys + key[None, :] * HEAD + feature[:, None])
        scores = tl.dot(q, k) * scale
        larger = tl.maximum(most, tl.max(scores, axis=1))
        shares = tl.exp(scores - larger[:, None])
        kept = tl.exp(most - larger)
        weight = weight * kept + tl.sum(shares, axis=1)
        v = tl.load(values + key[:, None] * HEAD + feature[None, :])
        total = tl.dot(shares.to(tl.float16), v, total * kept[:, None])
        most = larger
    tl.store(out + row[:, None] * HEAD + feature[None, :], total / weight[:, None])


def main():
    """Launch it, and check what it leaves."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(LENGTH, HEAD, device="cuda").to(torch.float16) for _ in range(3))
    out = torch.empty(LENGTH, HEAD, device="cuda")
    scale = HEAD**-0.5
    grid = (LENGTH // TILE,)
    attention[grid](out, q, k, v, LENGTH, scale, HEAD=HEAD, TILE=TILE, KEYS=KEYS, num_warps=WARPS)
    expected = torch.softmax(q.float() @ k.float().T * scale, 1) @ v.float()
    torch.testing.assert_close(out, expected, atol=1e-2, rtol=1e-2)


if __name__ == "__main__":
    main()
