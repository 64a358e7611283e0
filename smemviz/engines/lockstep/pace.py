"""How long a launch is going to take: told beforehand of its blocks, batch by batch, and of its loops as they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol, runtime_checkable

from smemviz.engines.options import Progress

LONG_SECONDS = 3.0
_SURE_SECONDS = 5.0
_PART = 8  # the small batch that is timed is such a part of a full one
_FEWEST = 2 * _PART  # blocks in a full batch; of fewer, no two small batches differ enough
_TELL_SECONDS = 1.0  # from one word on loops to the next


@runtime_checkable
class Expecting(Protocol):
    """A progress callback that is told beforehand when a launch will take longer than a few seconds."""

    def expect(self, seconds: float, text: str) -> None:
        """Take note that ``text`` is expected to run for so many more seconds."""


def announcing(progress: object, kernel: str) -> Callable[[float], None] | None:
    """Return what tells a progress callback of a long time, None for one that does not want to know."""
    if progress is None or not isinstance(progress, Expecting):
        return None

    def expect(seconds: float) -> None:
        if seconds > LONG_SECONDS:
            progress.expect(seconds, kernel)

    return expect


def batches(blocks: int, at_once: int, expect: Callable[[float], None] | None) -> Iterator[tuple[int, int]]:
    """Give batches of at most ``at_once`` blocks, each as its first block and how many.

    Where one batch is not enough and somebody wants to know, small ones come first, and the time that the caller takes
    for them gives ``expect`` the seconds that the rest will take.
    """
    first = 0
    if expect is not None and blocks > at_once >= _FEWEST:
        single_s: list[float] = []
        batch_s: list[float] = []
        few = at_once // _PART
        for count, seconds in _small(few, single_s, batch_s):
            begin = perf_counter()
            yield first, count
            seconds.append(perf_counter() - begin)
            first += count
        expect(_rest(blocks - first, at_once, few, min(single_s[1:] or single_s), min(batch_s)))
    for begin_at in range(first, blocks, at_once):
        yield begin_at, min(at_once, blocks - begin_at)


def _small(few: int, single_s: list[float], batch_s: list[float]) -> Iterator[tuple[int, list[float]]]:
    """Give the sizes of small batches, and where their seconds are to be noted.

    The very first batch loads what is loaded once, and a machine does other things too, so there are more of each size
    and the shortest counts; unless they take so long that all this matters little. The first that is counted may wait
    for a compiler: then some blocks take longer than they would one by one.
    """
    yield 1, single_s
    if single_s[0] < _SURE_SECONDS:
        yield 1, single_s
        yield 1, single_s
    yield few, batch_s
    if batch_s[0] < _SURE_SECONDS or batch_s[0] > few * min(single_s):
        yield few, batch_s


def _rest(blocks: int, at_once: int, few: int, single_s: float, batch_s: float) -> float:
    """Return the seconds that blocks will take: a batch costs something, and each block in it."""
    block_s = max(0.0, batch_s - single_s) / (few - 1)
    return blocks / at_once * (single_s + block_s * (at_once - 1))


@dataclass(slots=True)
class Turns:
    """How many turns a loop that runs now has begun, and how many it will have at most; None where nobody knows."""

    most: float | None
    begun: int = 0


class Pace:
    """How far a launch is: its blocks, and the loops that run now, each in a turn of the one before it."""

    def __init__(self, progress: Progress | None, kernel: str, blocks: int) -> None:
        self._progress = progress
        self._kernel = kernel
        self._blocks = blocks
        self._batch = 0, blocks
        self._loops: list[Turns] = []
        self._began = 0.0
        self._next = perf_counter() + _TELL_SECONDS
        self._said = LONG_SECONDS / 2

    def batches(self, at_once: int, *, together: bool = False) -> Iterator[tuple[int, int]]:
        """Give the batches of the launch, as ``batches`` does, and tell of each when the next is asked for.

        Blocks that wait for each other run ``together``, all of them at once.
        """
        expect = None if together else announcing(self._progress, self._kernel)
        for first, count in batches(self._blocks, self._blocks if together else at_once, expect):
            self._batch = first, count
            yield first, count
            if self._progress is not None:
                self._progress(first + count, self._blocks, self._kernel)

    def begin(self, most: float | None) -> Turns:
        """Begin a loop in the one that runs now."""
        if not self._loops:
            self._began = perf_counter()
        self._loops.append(Turns(most))
        return self._loops[-1]

    def end(self) -> None:
        """End the innermost loop."""
        self._loops.pop()

    def look(self) -> None:
        """Tell how far it is, where it is time to; where it will take far longer than was said, tell that first."""
        now = perf_counter()
        if self._progress is None or now < self._next:
            return
        self._next = now + _TELL_SECONDS
        share = self._share()
        if share:
            rest = (now - self._began) * (1 - share) / share
            if isinstance(self._progress, Expecting) and rest > 2 * self._said:
                self._said = rest
                self._progress.expect(rest, self._kernel)
        first, count = self._batch
        self._progress(int(100 * (first + share * count) / self._blocks), 100, self._kernel)

    def _share(self) -> float:
        """Return how much of the outermost loop is done, 0 where nobody knows."""
        share, each = 0.0, 1.0
        for turns in self._loops:
            if not turns.most:
                break
            each /= turns.most
            share += each * (turns.begun - 1)
        return min(share, 1.0)
