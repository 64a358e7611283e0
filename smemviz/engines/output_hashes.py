"""What a launch leaves in its arrays, as hashes: enough to tell whether two launches left the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np


class OutputHash(NamedTuple):
    """The SHA-256 of each array of a launch after it, in the order of its arguments."""

    kernel: str
    arrays: tuple[str, ...]


def hashed(values: Iterable[Any]) -> tuple[str, ...]:
    """Hash the arrays among values, and those in tuples among them."""
    hashes: list[str] = []
    for value in values:
        if isinstance(value, tuple):
            hashes.extend(hashed(value))
        elif hasattr(value, "dtype") and hasattr(value, "shape") and not isinstance(value, np.generic):
            array = np.ascontiguousarray(value)
            hashes.append(hashlib.sha256(array.tobytes()).hexdigest())
    return tuple(hashes)
