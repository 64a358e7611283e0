"""What the server keeps in memory: the latest results, each worked out once, within a number of bytes; and answers.

A class looks at the same things, and each answer need be drawn for one only. A question of a page holds all that its
answer depends on but the language and the files that are served. What the editor asks, and whatever is asked of its
texts, is answered anew.
"""

import gzip
import re
import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from cachetools import FIFOCache
from cachetools.func import ttl_cache
from flask import Flask, Response, g, has_request_context, request

from smemviz.app.server.payload import CALLBACKS
from smemviz.app.server.settings import visitor_of
from smemviz.i18n import spoken

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

_ENTRY_BYTES = 1000  # bytes that any entry takes besides what it holds
_SHARE = 4  # of the room, what the results of one visitor may take: a quarter
_ANSWER_BYTES = 64 << 20  # of all answers, compressed
_GZIP_LEVEL = 4
_PACKET_BYTES = 1400  # so many travel in one packet anyway
_STAMP_SECONDS = 1.0  # between two looks at whether a file has changed
_OF_EDITOR = re.compile(rb'"editor-|text-[0-9a-f]{16}')


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
        entry = _Entry(value, _ENTRY_BYTES + size_of(key) + self._weigh(value), visitor())
        with self._lock:
            self._entries.pop(key, None)
            own = [(old, stored.bytes) for old, stored in self._entries.items() if stored.visitor == entry.visitor]
            room = self._share - entry.bytes
            for old, size in reversed(own):
                room -= size
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


class _Answer(NamedTuple):
    body: bytes
    packed: bool


class Answers:
    """The latest answers of a server to questions on files, compressed for browsers that take them so."""

    def __init__(self, server: Flask, files: Iterable[Path]) -> None:
        self._stamp = ttl_cache(1, _STAMP_SECONDS)(partial(_stamp, sorted(set(files))))
        self._known: Cache[Hashable, _Answer] = Cache(_ANSWER_BYTES, lambda answer: len(answer.body))
        server.before_request(self._cached_response)
        server.after_request(self._keep)

    def _cached_response(self) -> Response | None:
        question = request.get_data() if request.path == CALLBACKS else b""
        if not question or _OF_EDITOR.search(question):
            return None
        key = blake2b(question).digest(), spoken(), self._stamp()
        answer = self._known.get(key)
        if answer is None:
            g.question = key
            return None
        return _put(answer, Response(mimetype="application/json"))

    def _keep(self, response: Response) -> Response:
        question = g.pop("question", None)
        if question is None or response.status_code != 200 or g.get("passes"):
            return response
        body = response.get_data()
        packed = len(body) > _PACKET_BYTES
        answer = _Answer(gzip.compress(body, _GZIP_LEVEL, mtime=0) if packed else body, packed)
        self._known.keep(question, answer)
        return _put(answer, response)


def _put(answer: _Answer, response: Response) -> Response:
    """Put an answer into a response as the browser takes it."""
    as_stored = not answer.packed or request.accept_encodings["gzip"]
    response.set_data(answer.body if as_stored else gzip.decompress(answer.body))
    response.vary.add("Accept-Encoding")
    if as_stored and answer.packed:
        response.content_encoding = "gzip"
    return response


def _stamp(files: Iterable[Path]) -> int:
    """Return what changes when one of the files does, or what was recorded of those that lie beside them."""
    recorded = (path for folder in {file.parent for file in files} for path in folder.glob("recordings/*/*"))
    stamps = set()
    for path in (*files, *recorded):
        try:
            status = path.stat()
        except OSError:  # it is there no more, which is a change as well
            continue
        stamps.add((path, status.st_mtime_ns, status.st_size))
    return hash(frozenset(stamps))
