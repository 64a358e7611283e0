"""Turning tiles in CuTe DSL: rows are copied into shared memory and columns out of it, as they are and swizzled.

``turn_plain`` keeps each row of a tile behind the one before, so that a column lies in one bank. ``turn_swizzled`` has
the same layout behind ``Swizzle<5, 0, 5>``: column ``c`` of row ``r`` lies at ``c ^ r``, and rows and columns are in 32
banks both. ``turn.ptx`` is what CuTe DSL compiles, with a line that launches each.
"""

import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_compact_tensor

ROWS = 64
COLUMNS = 96
TILE = 32


@cute.kernel
def turn_plain(matrix: cute.Tensor, out: cute.Tensor):
    """Each block turns a square tile."""
    column, row, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    storage = cutlass.memory.SmemAllocator()
    tile = storage.allocate_tensor(cutlass.Float32, cute.make_layout((TILE, TILE), stride=(TILE, 1)))
    tile[row, column] = matrix[down * TILE + row, across * TILE + column]
    cute.arch.sync_threads()
    out[across * TILE + row, down * TILE + column] = tile[column, row]


@cute.kernel
def turn_swizzled(matrix: cute.Tensor, out: cute.Tensor):
    """Each block turns a square tile that is swizzled."""
    column, row, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    storage = cutlass.memory.SmemAllocator()
    rows = cute.make_layout((TILE, TILE), stride=(TILE, 1))
    swizzled = cute.make_composed_layout(cute.make_swizzle(5, 0, 5), 0, rows)
    tile = storage.allocate_tensor(cutlass.Float32, swizzled)
    tile[row, column] = matrix[down * TILE + row, across * TILE + column]
    cute.arch.sync_threads()
    out[across * TILE + row, down * TILE + column] = tile[column, row]


@cute.jit
def turn(matrix: cute.Tensor, out: cute.Tensor):
    """Launch both."""
    grid, block = (COLUMNS // TILE, ROWS // TILE, 1), (TILE, TILE, 1)
    turn_plain(matrix, out).launch(grid=grid, block=block)
    turn_swizzled(matrix, out).launch(grid=grid, block=block)


if __name__ == "__main__":
    matrix = make_fake_compact_tensor(cutlass.Float32, (ROWS, COLUMNS), stride_order=(1, 0))
    out = make_fake_compact_tensor(cutlass.Float32, (COLUMNS, ROWS), stride_order=(1, 0))
    cute.compile(turn, matrix, out)
