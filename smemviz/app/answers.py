"""Answers that a server gave before: a class looks at the same things, and each of them need be drawn for one only.

A question of a page holds all that its answer depends on but the language and the files that are served. What the
editor asks, and whatever is asked of its texts, is answered anew.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Hashable, Iterable
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from cachetools.func import ttl_cache
from flask import Flask, Response, g, request

from smemviz.app.cache import Cache
from smemviz.app.server.payload import CALLBACKS
from smemviz.i18n import spoken

_MOST = 64 << 20  # bytes, compressed
_LEVEL = 4
_SMALL = 1400  # bytes that travel in one packet anyway
_SECONDS = 1.0  # between two looks at whether a file has changed
_OF_EDITOR = re.compile(rb'"editor-|text-[0-9a-f]{16}')


class _Answer(NamedTuple):
    body: bytes
    packed: bool


class Answers:
    """The latest answers of a server to questions on files, compressed for browsers that take them so."""

    def __init__(self, server: Flask, files: Iterable[Path]) -> None:
        self._stamp = ttl_cache(1, _SECONDS)(partial(_stamp, sorted(set(files))))
        self._known: Cache[Hashable, _Answer] = Cache(_MOST, lambda answer: len(answer.body))
        server.before_request(self._given)
        server.after_request(self._keep)

    def _given(self) -> Response | None:
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
        packed = len(body) > _SMALL
        answer = _Answer(gzip.compress(body, _LEVEL, mtime=0) if packed else body, packed)
        self._known.keep(question, answer)
        return _put(answer, response)


def _put(answer: _Answer, response: Response) -> Response:
    """Put an answer into a response as the browser takes it."""
    taken = not answer.packed or request.accept_encodings["gzip"]
    response.set_data(answer.body if taken else gzip.decompress(answer.body))
    response.vary.add("Accept-Encoding")
    if taken and answer.packed:
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
