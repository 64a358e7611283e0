"""What threads store in shared memory: noted store by store, and put together as it is there.

Of a complex number its bits are noted, 8 bytes at a time, so that a store of a wide one notes two items.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.values.typing import Dtype

PIECE = 8  # bytes of an access that are looked at at once


def bits_of_single(number: float) -> int:
    """Return the bits of a number in single precision."""
    return int.from_bytes(struct.pack("<f", number), "little")


def bits_of_double(number: float) -> int:
    """Return the bits of a number in double precision."""
    return int.from_bytes(struct.pack("<d", number), "little")


def bits_of_singles(number: complex) -> int:
    """Return the bits of a complex number in single precision."""
    return int.from_bytes(struct.pack("<2f", number.real, number.imag), "little")


def in_pieces(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many pieces accesses of some sizes have."""
    return np.maximum(sizes // PIECE, 1)


def bits_of(
    dtypes: Sequence[Dtype],
    stores: NDArray[np.bool_],
    valued: NDArray[np.bool_],
    each: Callable[[], NDArray[np.integer]],
    values: NDArray[np.float64],
    whole: Callable[[], NDArray[np.uint64]],
) -> NDArray[np.uint64]:
    """Return items as they are in shared memory; ``values`` of what is not recorded become NaN.

    ``dtypes`` are those of accesses, of which some are ``stores``, and some of these ``valued``: what they store is
    recorded. Of all items ``each`` gives the access that stored it, and ``whole`` what it is as an integer of 64 bits.
    """
    kinds = dict.fromkeys(dtype for dtype, is_store in zip(dtypes, stores.tolist(), strict=True) if is_store)
    are_valued = not (stores & ~valued).any()
    of_items = each() if len(kinds) > 1 or not are_valued else None
    integers = whole() if any(map(_is_whole, kinds)) else None
    bits = np.zeros(len(values), np.uint64)
    for dtype in kinds:
        own: slice | NDArray[np.intp] = slice(None)
        if of_items is not None:
            own = np.flatnonzero(np.array([of == dtype for of in dtypes])[of_items])
        if integers is not None and _is_whole(dtype):
            bits[own] = integers[own]
        else:
            bits[own] = values[own].astype(dtype).view(f"u{dtype.itemsize}")
    if of_items is not None:
        values[~valued[of_items]] = np.nan
    return bits


def _is_whole(dtype: Dtype) -> bool:
    """Tell whether a float does not hold what is stored."""
    return dtype.kind == "c" or (dtype.kind in "iu" and dtype.itemsize == PIECE)
