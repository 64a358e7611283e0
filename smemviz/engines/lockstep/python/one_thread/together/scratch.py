"""Memory that is used again, part after part: to take it anew takes longer than to fill it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_MORE = 8  # of it is taken one part more, as the next part may be longer


class Scratch:
    """Arrays by their names, each until one of the same name is asked for again."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def array(self, name: str, size: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return an array of which nobody knows what is in it."""
        kept = self._arrays.get(name)
        if kept is None or len(kept) < size:
            self._arrays.pop(name, None)
            kept = self._arrays[name] = np.empty(size + size // _MORE, dtype)
        return kept[:size]

    def joined(self, name: str, arrays: Sequence[NDArray[Any]], dtype: DTypeLike) -> NDArray[Any]:
        """Return one array of what is in several."""
        whole = self.array(name, sum(map(len, arrays)), dtype)
        if arrays:
            np.concatenate(arrays, out=whole)
        return whole
