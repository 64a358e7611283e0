"""Texts that differ between threads, and bytes likewise: one of each thread's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.values.masks import Lanes


@dataclass(frozen=True, eq=False)
class Texts:
    """The text of each thread, ``items`` are (threads,) objects."""

    items: NDArray[np.object_]


def merged_texts(lanes: Lanes, new: str | Texts, old: str | Texts) -> str | Texts:
    """Return a text that is ``new`` in the threads of ``lanes`` and ``old`` in the others."""
    return new if new == old else Texts(np.where(lanes, _items(new), _items(old)))


def of_texts(function: Callable[..., Any], *texts: str | bytes | Texts) -> Any:
    """Return what a function gives of texts, for each thread where they differ: a number or a condition."""
    if not any(isinstance(text, Texts) for text in texts):
        return function(*texts)
    found = np.frompyfunc(function, len(texts), 1)(*map(_items, texts))
    return found.astype(type(found[0]))


def _items(text: str | bytes | Texts) -> NDArray[np.object_]:
    return text.items if isinstance(text, Texts) else np.array(text, np.object_)
