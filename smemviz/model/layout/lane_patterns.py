"""Where the lanes of a warp go, request after request, in a grid of rows of pieces; a lane takes one piece."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smemviz.model.hardware.hardware import WARP

Integers = NDArray[np.int64]

LANES = np.arange(WARP)
MATRIX_ROWS = 8


class Patch(NamedTuple):
    """A rectangle of ``rows`` by ``pieces`` that a request takes, and which of it each lane has, (32,); -1 for none."""

    rows: int
    pieces: int
    down: Integers
    right: Integers


def tile_patch(across: int) -> Patch:
    """Return a patch of as many lanes side by side."""
    return Patch(WARP // across, across, LANES // across, LANES % across)


def matrix_patch(matrices: int, across: int) -> Patch:
    """Return a patch of matrices, so many of them side by side; lane i has row i % 8 of matrix i // 8.

    Matrices count downwards first, as the fragments of a matrix product do.
    """
    matrix, row = np.divmod(LANES, MATRIX_ROWS)
    high = matrices // across
    down = np.where(matrix < matrices, matrix % high * MATRIX_ROWS + row, -1)
    return Patch(high * MATRIX_ROWS, across, down, matrix // high)


def patches(patch: Patch, rows: int, pieces: int) -> int:
    """Return how many patches cover a grid of ``rows`` by ``pieces``."""
    return -(-rows // patch.rows) * -(-pieces // patch.pieces)


def patched(patch: Patch, request: Integers, rows: int, pieces: int) -> tuple[Integers, Integers]:
    """Return row and piece of each lane in requests, (...,) to (..., 32); row -1 where a lane has none in the grid."""
    down, right = np.divmod(request[..., None], -(-pieces // patch.pieces))
    row, piece = down * patch.rows + patch.down, right * patch.pieces + patch.right
    return np.where((patch.down >= 0) & (row < rows) & (piece < pieces), row, -1), piece


def in_line(pattern: str, request: Integers, rows: int, pieces: int) -> tuple[Integers, Integers]:
    """Return row and piece of each lane, as ``patched``, along the lines of a ``row``, ``column`` or ``diagonal``."""
    k = request[..., None] * WARP + LANES
    if pattern == "row":
        row, piece = np.divmod(k, pieces)
    else:
        piece, row = np.divmod(k, rows)
        if pattern == "diagonal":
            piece = (piece + row) % pieces
    return np.where(k < rows * pieces, row, -1), piece
