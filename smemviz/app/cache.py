"""What the server keeps in memory: the latest results, each worked out once, within a number of bytes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future
from dataclasses import fields, is_dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from cachetools import FIFOCache
from flask import has_request_context, request

from smemviz.app.server.hosts import visitor_of

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

_ENTRY = 1000  # bytes that any entry takes besides what it holds
_SHARE = 4  # of the room, what the results of one visitor may take: a quarter


class _Entry(NamedTuple, Generic[Value]):
    value: Value
    bytes: int
    visitor: str


class Cache(Generic[Key, Value]):
    """Results by key, the latest ones; all together weigh at most ``most`` bytes, those of one visitor a quarter.

    The last result stays in any case. ``weigh`` says how many bytes a result takes.
    """

    def __init__(self, most: int, weigh: Callable[[Value], int] | None = None) -> None:
        self._share = most // _SHARE
        self._weigh = weigh or size_of
        # What is asked for again is put in again, so that the first one in is the one nobody asked for longest.
        self._entries: FIFOCache[Key, _Entry[Value]] = FIFOCache(most, lambda entry: min(entry.bytes, most))
        self._coming: dict[Key, Future[Value]] = {}
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """Return what is known, None where nothing is."""
        with self._lock:
            entry = self._known(key)
        return None if entry is None else entry.value

    def once(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return what is known, else what ``make`` returns; who asks for that meanwhile waits, nobody else does.

        What ``make`` raises is raised for all who wait, and not kept.
        """
        with self._lock:
            entry = self._known(key)
            if entry is not None:
                return entry.value
            others = self._coming.get(key)
            future = others or self._coming.setdefault(key, Future())
        if others is not None:
            return others.result()
        try:
            value = make()
            self.keep(key, value)
            future.set_result(value)
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._coming[key]
        return value

    def keep(self, key: Key, value: Value) -> None:
        """Keep a result as the latest, and forget the oldest for which there is no room."""
        entry = _Entry(value, _ENTRY + size_of(key) + self._weigh(value), visitor())
        with self._lock:
            self._entries.pop(key, None)
            own = [(old, stored.bytes) for old, stored in self._entries.items() if stored.visitor == entry.visitor]
            room = self._share - entry.bytes
            for old, taken in reversed(own):
                room -= taken
                if room < 0:
                    del self._entries[old]
            self._entries[key] = entry

    def forget(self, key: Key) -> None:
        """Take out a result that does not hold any more, if it is there."""
        with self._lock:
            self._entries.pop(key, None)

    def _known(self, key: Key) -> _Entry[Value] | None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._entries[key] = entry
        return entry


def visitor() -> str:
    """Return who is asking."""
    return visitor_of(request.remote_addr or "") if has_request_context() else ""


def size_of(value: object) -> int:
    """Return about how many bytes a value takes, with all that it holds: arrays, texts, dataclasses, syntax trees."""
    total = 0
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or part is None:
            continue
        seen.add(id(part))
        total += sys.getsizeof(part, 0)
        if isinstance(part, np.ndarray):
            waiting.append(part.base)
        elif isinstance(part, Mapping):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, (list, tuple, set, frozenset)):
            waiting += part
        elif is_dataclass(part):
            waiting += [getattr(part, field.name) for field in fields(part)]
        elif not isinstance(part, (str, bytes, int, float, type)):
            total += sys.getsizeof(getattr(part, "__dict__", None), 0)
            waiting += getattr(part, "__dict__", {}).values()
    return total
