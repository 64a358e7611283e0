"""Global memory: the sectors a request moves, and how much of them it uses."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smemviz.model.counting.service import serve
from smemviz.model.hardware.operations import check_width
from smemviz.model.hardware.rules import Rule, piece_rule
from smemviz.recordings.data import SECTOR_BYTES


def sectors(addresses: ArrayLike, width: int) -> NDArray[np.int64]:
    """Return how many different sectors each request touches: (..., 32) byte addresses, -1 = off, to (...,).

    An aligned access never straddles two. Measured on an H200 for 4, 8 and 16 bytes, loads and stores alike.

    Raises:
        InputError: for a wrong shape or width, a negative or misaligned address.
    """
    return serve(addresses, sector_rule(width)).wavefronts


def sector_rule(width: int) -> Rule:
    """Return the rule by which a request's sectors are its wavefronts."""
    return _rule(width, SECTOR_BYTES)


def bytes_used(addresses: ArrayLike, width: int) -> NDArray[np.int64]:
    """Return how many different bytes each request asks for; it moves ``SECTOR_BYTES`` times its sectors.

    Raises:
        InputError: as ``sectors``.
    """
    return serve(addresses, _rule(width, width)).wavefronts * width


def fewest_sectors(used: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many sectors would hold as many bytes as requests use."""
    return -(-used // SECTOR_BYTES)


def _rule(width: int, piece_bytes: int) -> Rule:
    check_width(width)
    return piece_rule(width, piece_bytes)
