"""Transposing a matrix in Triton: the compiler makes a tile in shared memory of it, and chooses how that lies.

``tl.trans`` changes no data, only which thread has which element. The tile is where they change hands: stores come
along rows and loads along columns, and the compiler keeps both out of each other's banks.
"""

import torch
import triton
import triton.language as tl

ROWS = 64
COLUMNS = 96
TILE = 32


@triton.jit
def transpose(out, matrix, rows, columns, TILE: tl.constexpr):
    """Each program transposes a square tile."""
    row = tl.program_id(1) * TILE + tl.arange(0, TILE)
    column = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    tile = tl.load(matrix + row[:, None] * columns + column[None, :], mask=inside)
    tl.store(out + column[:, None] * rows + row[None, :], tl.trans(tile), mask=tl.trans(inside))


def main():
    """Launch it, and check what it leaves."""
    matrix = torch.arange(ROWS * COLUMNS, dtype=torch.float32, device="cuda").reshape(ROWS, COLUMNS)
    out = torch.empty(COLUMNS, ROWS, device="cuda")
    transpose[triton.cdiv(COLUMNS, TILE), triton.cdiv(ROWS, TILE)](out, matrix, ROWS, COLUMNS, TILE=TILE)
    assert torch.equal(out, matrix.T)


if __name__ == "__main__":
    main()
