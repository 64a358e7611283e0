"""Tiles as tensor copies store them and ``wgmma`` reads them: in strips, whose pieces of 16 bytes a swizzle exchanges.

A box of a tensor copy is as wide as its swizzle at most, so that a wider tile is copied in strips, one behind the
other. ``docs/explanation/hopper.md`` has what was measured of the swizzles on an H200.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

SWIZZLE_WIDTHS = (16, 32, 64, 128)  # bytes of a row, by which a swizzle is called; 16 for none
PIECE = 16  # bytes, which stay together: a row of a matrix


def swizzled(address: Integers, width: int, base: int = 0) -> Integers:
    """Return where a swizzle of ``width`` bytes, 16 for none, puts bytes of shared memory; twice, they are back.

    ``base`` is by how many rows of 128 bytes its pattern begins later than at a multiple of 1,024.
    """
    return address ^ (((address >> 7) - base) & (width // PIECE - 1)) << 4


class Mode(NamedTuple):
    """A way to store a tile: strips of ``strip`` bytes, and the width of the swizzle, 16 for none."""

    strip: int
    width: int

    def address(self, row: Integers, byte: Integers, rows: int) -> Integers:
        """Return where a byte of a row goes in a tile of so many rows that begins at a multiple of 1,024 bytes."""
        strip, inside = np.divmod(byte, self.strip)
        return swizzled((strip * rows + row) * self.strip + inside, self.width)


# Row by row without a swizzle, matrix by matrix without one, and the three swizzles.
MODES = (Mode(128, 16), *(Mode(width, width) for width in SWIZZLE_WIDTHS))


def has_descriptor(addresses: Integers) -> bool:
    """Tell whether ``wgmma`` can read matrices from where they lie, (..., 32), 8 rows of 16 bytes of each matrix.

    In every layout that a descriptor can name the rows of a matrix lie as far apart as the swizzle is wide.
    """
    rows = addresses.reshape(-1, 8)
    rows = rows[(rows >= 0).all(axis=1)]
    return any((np.diff(swizzled(rows, width)) == width).all() for width in SWIZZLE_WIDTHS)
