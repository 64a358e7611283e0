"""What the server keeps in memory: the latest results, each worked out once, within a number of bytes."""

from __future__ import annotations

import sys
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future
from dataclasses import fields, is_dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from flask import has_request_context, request

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
        self._most = most
        self._weigh = weigh or size_of
        self._entries: OrderedDict[Key, _Entry[Value]] = OrderedDict()
        self._coming: dict[Key, Future[Value]] = {}
        self._taken: Counter[str | None] = Counter()  # bytes by visitor; None stands for all of them
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """Return what is known, None where nothing is."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry.value

    def once(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return what is known, else what ``make`` returns; who asks for that meanwhile waits, nobody else does.

        What ``make`` raises is raised for all who wait, and not kept.
        """
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
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
        entry = _Entry(value, _ENTRY + size_of(key) + self._weigh(value), _visitor())
        with self._lock:
            if key in self._entries:
                self._forget(key)
            older = list(self._entries)
            self._entries[key] = entry
            self._taken.update({entry.visitor: entry.bytes, None: entry.bytes})
            for whose, most in ((entry.visitor, self._most // _SHARE), (None, self._most)):
                for old in older:
                    if self._taken[whose] <= most:
                        break
                    if old in self._entries and whose in (None, self._entries[old].visitor):
                        self._forget(old)

    def forget(self, key: Key) -> None:
        """Take out a result that does not hold any more, if it is there."""
        with self._lock:
            if key in self._entries:
                self._forget(key)

    def _forget(self, key: Key) -> None:
        entry = self._entries.pop(key)
        self._taken.subtract({entry.visitor: entry.bytes, None: entry.bytes})
        self._taken = +self._taken  # without those who have nothing left here


def _visitor() -> str:
    """Return who is asking: an address, for whoever has one can change all else that is sent."""
    return (request.remote_addr or "") if has_request_context() else ""


def size_of(value: object) -> int:
    """Return about how many bytes a value takes, with all that it holds: arrays, texts, dataclasses, syntax trees."""
    total = 0
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or one is None:
            continue
        seen.add(id(one))
        total += sys.getsizeof(one, 0)
        if isinstance(one, np.ndarray):
            waiting.append(one.base)
        elif isinstance(one, Mapping):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, (list, tuple, set, frozenset)):
            waiting += one
        elif is_dataclass(one):
            waiting += [getattr(one, field.name) for field in fields(one)]
        elif not isinstance(one, (str, bytes, int, float, type)):
            total += sys.getsizeof(getattr(one, "__dict__", None), 0)
            waiting += getattr(one, "__dict__", {}).values()
    return total
