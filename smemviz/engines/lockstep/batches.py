"""The batches in which the blocks of a launch run, and how long they are going to take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Protocol, runtime_checkable

from smemviz.engines.options import Progress

_LONG_SECONDS = 3.0
_SURE_SECONDS = 5.0
_PART = 8  # the small batch that is timed is such a part of a full one
_FEWEST = 2 * _PART  # blocks in a full batch; of fewer, no two small batches differ enough


@runtime_checkable
class Expecting(Protocol):
    """A progress callback that is told beforehand when a launch will take longer than a few seconds."""

    def expect(self, seconds: float, text: str) -> None:
        """Take note that ``text`` is expected to run for so many more seconds."""


def in_batches(
    blocks: int, at_once: int, kernel: str, progress: Progress | None, *, together: bool = False
) -> Iterator[tuple[int, int]]:
    """Give the batches of a launch, as ``batches`` does, and tell ``progress`` of each when the next is asked for.

    Blocks that wait for each other run ``together``, all of them at once.
    """
    expect = None if together else announcing(progress, kernel)
    for first, count in batches(blocks, blocks if together else at_once, expect):
        yield first, count
        if progress is not None:
            progress(first + count, blocks, kernel)


def announcing(progress: object, kernel: str) -> Callable[[float], None] | None:
    """Return what tells a progress callback of a long time, None for one that does not want to know."""
    if not isinstance(progress, Expecting):
        return None

    def expect(seconds: float) -> None:
        if seconds > _LONG_SECONDS:
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
    each = max(0.0, batch_s - single_s) / (few - 1)
    return blocks / at_once * (single_s + each * (at_once - 1))
