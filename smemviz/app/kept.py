"""Pictures that were drawn before: who steps back, and whoever looks at what others looked at, need not wait."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from functools import wraps
from typing import Any
from weakref import ref
from zlib import compress, decompress

import plotly.graph_objects as go

from smemviz.app.library import Library
from smemviz.app.look_view import looked_at
from smemviz.app.run_view import Filling, Query
from smemviz.language import spoken
from smemviz.recording import Recording

_MOST = 2048  # answers of some 15 kB each, as compressed JSON

View = Callable[[Library, Query, Query], Filling]
Drawn = tuple[Filling, dict[str, bytes]]  # what is no figure, and the figures as compressed JSON


class Kept:
    """What views drew of a recording, the latest ``_MOST``; two who ask at once are drawn for once."""

    def __init__(self) -> None:
        self._drawn: OrderedDict[Hashable, tuple[ref[Recording], Future[Drawn]]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, view: View) -> View:
        """Return the view, drawing only what was not drawn before."""

        @wraps(view)
        def kept(library: Library, run: Query, look: Query) -> Filling:
            found = looked_at(library, run, look)
            if found is None:
                return view(library, run, look)
            of = found.shown.recording
            key = (view, spoken(), id(of), tuple(sorted(run.items())), found.look)
            filling, figures = self._once(key, of, lambda: _apart(view(library, run, look)))
            return filling | {name: json.loads(decompress(packed)) for name, packed in figures.items()}

        return kept

    def _once(self, key: Hashable, of: Recording, draw: Callable[[], Drawn]) -> Drawn:
        with self._lock:
            recording, future = self._drawn.get(key, (lambda: None, Future()))
            new = recording() is not of  # another may have the id of one that is gone
            if new:
                recording, future = self._drawn[key] = (ref(of), Future())
                if len(self._drawn) > _MOST:
                    self._drawn.popitem(last=False)
            self._drawn.move_to_end(key)
        if new:
            try:
                future.set_result(draw())
            except BaseException as error:
                with self._lock:
                    self._drawn.pop(key, None)
                future.set_exception(error)
        return future.result()


def _apart(filling: Filling) -> Drawn:
    """Part what a view fills in from its figures, whose thousands of texts are much alike and pack well."""
    figures = {
        name: compress(value.to_json().encode(), level=1)
        for name, value in filling.items()
        if isinstance(value, go.Figure)
    }
    rest: dict[str, Any] = {name: value for name, value in filling.items() if name not in figures}
    return rest, figures
