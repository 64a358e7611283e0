"""Which launches of a run are recorded, and which blocks of each are logged in full."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import BlocksError, InputError

_WORDS = ("first", "middle", "last", "all")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_HOW = "give numbers and ranges such as 0,5,8-11, or first, middle, last, all"


@dataclass(frozen=True)
class Blocks:
    """Blocks of a grid by linear number, from 0: each part is a range (first, last), both in it, or a word."""

    text: str
    parts: tuple[tuple[int, int] | str, ...]

    def of(self, place: tuple[str, int], kernel: str, blocks: int) -> NDArray[np.int64]:
        """Return the numbers meant in a grid of ``blocks`` blocks, in order, each once.

        Raises:
            BlocksError: when the grid has no such block; ``place`` is the file and line that it names.
        """
        numbers = []
        for part in self.parts:
            first, last = _bounds(part, blocks)
            if last >= blocks:
                has = "one block, number 0" if blocks == 1 else f"blocks 0 to {blocks - 1}"
                raise BlocksError(*place, f"there is no block {last} in this launch of {kernel}, which has {has}")
            numbers.append(np.arange(first, last + 1))
        return np.unique(np.concatenate(numbers)).astype(np.int64)


def _bounds(part: tuple[int, int] | str, blocks: int) -> tuple[int, int]:
    if isinstance(part, tuple):
        return part
    bounds = {"first": (0, 0), "middle": (blocks // 2, blocks // 2), "last": (blocks - 1, blocks - 1)}
    return bounds.get(part, (0, blocks - 1))


def as_blocks(blocks: str | int | Sequence[int] | Blocks | None) -> Blocks | None:
    """Read which blocks are meant: ``"0,5,8-11"``, ``"first,last"``, ``[0, 5]``; None stays None.

    Raises:
        InputError: for anything else.
    """
    if blocks is None or isinstance(blocks, Blocks):
        return blocks
    if not isinstance(blocks, str):
        try:
            numbers = [index(number) for number in (blocks if isinstance(blocks, Iterable) else [blocks])]
        except TypeError:
            raise InputError(f"blocks {blocks!r}: {_HOW}") from None
        blocks = ",".join(map(str, numbers))
    parts: list[tuple[int, int] | str] = []
    for part in blocks.split(","):
        word = part.strip()
        match = _RANGE.fullmatch(word)
        if not (match or word in _WORDS):
            raise InputError(f"blocks {blocks!r}: {_HOW}")
        if match:
            first = int(match[1])
            last = int(match[2] or first)
            if last < first:
                raise InputError(f"blocks {blocks!r}: {word} ends before it begins")
            parts.append((first, last))
        else:
            parts.append(word)
    return Blocks(blocks, tuple(parts))


@dataclass(frozen=True)
class Selection:
    """What of a run is asked for.

    ``kernels`` are names, none meaning every kernel; ``launch`` is one launch's number, from 0, among those of these
    kernels; ``max_launches`` bounds how many are recorded. ``blocks`` are the blocks logged in full: None means all
    of them where they fit the log's limit and else the first, the middle and the last. Totals hold for the whole grid
    in any case.
    """

    kernels: tuple[str, ...] = ()
    launch: int | None = None
    max_launches: int | None = None
    blocks: Blocks | None = None


EVERYTHING = Selection()


def selection(
    blocks: str | int | Sequence[int] | Blocks | None = None,
    kernels: str | Sequence[str] = (),
    launch: int | None = None,
    max_launches: int | None = None,
) -> Selection:
    """Read what of a run is asked for.

    Raises:
        InputError: for what cannot be meant.
    """
    if launch is not None and launch < 0:
        raise InputError(f"launch {launch}: launches are numbered from 0")
    if max_launches is not None and max_launches < 1:
        raise InputError(f"at most {max_launches} launches: record at least 1")
    names = (kernels,) if isinstance(kernels, str) else tuple(kernels)
    return Selection(names, launch, max_launches, as_blocks(blocks))


class Picker:
    """Goes along with a run and tells of each launch whether it is to be recorded."""

    def __init__(self, selection: Selection = EVERYTHING) -> None:
        self.selection = selection
        self.seen: Counter[str] = Counter()
        self.taken = 0

    def takes(self, kernel: str) -> bool:
        """Note one launch of a kernel and tell whether it is to be recorded."""
        selection = self.selection
        number = None if selection.launch is None else self._candidates()
        self.seen[kernel] += 1
        if selection.kernels and kernel not in selection.kernels:
            return False
        if selection.launch not in (None, number) or self.taken == selection.max_launches:
            return False
        self.taken += 1
        return True

    @property
    def skipped(self) -> int:
        """How many launches were made and not to be recorded."""
        return self.seen.total() - self.taken

    def check(self) -> None:
        """Complain at the end of a run when what was asked for never came.

        Raises:
            InputError: naming what there was.
        """
        missing = [name for name in self.selection.kernels if name not in self.seen]
        if self.seen and missing:
            raise InputError(f"no launch of {', '.join(missing)}; the run launched {', '.join(self.seen)}")
        if self.seen and not self.taken:
            count = self._candidates()
            launches = "1 launch, number 0" if count == 1 else f"{count} launches, numbers 0 to {count - 1}"
            of = f" of {', '.join(self.selection.kernels)}" if self.selection.kernels else ""
            raise InputError(f"there is no launch {self.selection.launch}{of}; the run made {launches}")

    def _candidates(self) -> int:
        kernels = self.selection.kernels
        return sum(count for name, count in self.seen.items() if not kernels or name in kernels)
