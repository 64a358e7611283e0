"""Launches that asked for exactly the same, as those of a loop often do: counted and shown once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from smemviz.recordings.data import Launch


def duplicates(launches: Sequence[Launch]) -> tuple[tuple[int, ...], ...]:
    """Return groups of launches by number, in order of the first: same kernel, sizes, sites and addresses.

    What they stored may differ. A launch that was measured, in time or by counters, stands alone.
    """
    groups: dict[object, list[int]] = {}
    for number, launch in enumerate(launches):
        groups.setdefault(_fingerprint(launch, number), []).append(number)
    return tuple(map(tuple, groups.values()))


def _fingerprint(launch: Launch, number: int) -> object:
    if launch.time or launch.hardware or launch.counters:
        return number
    sizes = launch.grid, launch.block, launch.dynamic_shared, launch.shared_bytes
    columns = [_digest(launch.requests), _digest(launch.totals) if launch.totals else b""]
    return (launch.file, launch.kernel, launch.line, sizes, launch.sites, launch.arrays, *columns)


def _digest(columns: Any) -> bytes:
    """Hash the arrays of a dataclass but for the values stored."""
    digest = hashlib.blake2b(digest_size=16)
    for column in fields(columns):
        if column.name != "values":
            digest.update(getattr(columns, column.name).tobytes())
    return digest.digest()
