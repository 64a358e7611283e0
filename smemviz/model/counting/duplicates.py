"""Launches that asked for exactly the same, as those of a loop often do: counted and shown once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from smemviz.recordings.data import Launch


def duplicates(launches: Sequence[Launch]) -> tuple[tuple[int, ...], ...]:
    """Return groups of launches by number, in order of the first: same kernel, sizes, sites and addresses.

    What they stored may differ. A launch that was measured, in time or by counters, stands alone.
    """
    alike: dict[object, list[int]] = {}
    for number, launch in enumerate(launches):
        measured = launch.time or launch.hardware or launch.counters
        alike.setdefault(number if measured else _facts(launch), []).append(number)
    groups: dict[object, list[int]] = {}
    for facts, numbers in alike.items():
        for number in numbers:  # what one launch asked for need not be hashed
            asked_for = _fingerprint(launches[number]) if len(numbers) > 1 else ()
            groups.setdefault((facts, asked_for), []).append(number)
    return tuple(map(tuple, sorted(groups.values())))


def times_made(launches: Iterable[Launch]) -> int:
    """Return how many launches of the run some launches stand for, with those that repeated them."""
    return sum(1 + launch.repeats for launch in launches)


def _facts(launch: Launch) -> object:
    sizes = launch.grid, launch.block, launch.dynamic_shared, launch.shared_bytes
    return launch.file, launch.kernel, launch.line, sizes, launch.sites, launch.arrays, len(launch.requests)


def _fingerprint(launch: Launch) -> tuple[bytes, bytes]:
    return _digest(launch.requests), _digest(launch.totals) if launch.totals else b""


def _digest(columns: Any) -> bytes:
    """Hash the arrays of a dataclass but for the values stored."""
    digest = hashlib.blake2b(digest_size=16)
    for column in fields(columns):
        if column.name != "values":
            digest.update(getattr(columns, column.name).tobytes())
    return digest.digest()
