"""Pictures that were drawn before: who steps back, and whoever looks at what others looked at, need not wait."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from functools import wraps
from typing import Any

import plotly.graph_objects as go

from smemviz.app.library import Library
from smemviz.app.look_view import looked_at
from smemviz.app.run_view import Filling, Query
from smemviz.language import spoken

_MOST = 256  # pictures of some 100 kB each, as JSON

View = Callable[[Library, Query, Query], Filling]
Drawn = tuple[object, Filling, dict[str, str]]  # a recording, what is no figure, and the figures as JSON


class Kept:
    """What views drew of a recording, the latest ``_MOST``; two who ask at once are drawn for once."""

    def __init__(self) -> None:
        self._drawn: OrderedDict[Hashable, Future[Drawn]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, view: View) -> View:
        """Return the view, drawing only what was not drawn before."""

        @wraps(view)
        def kept(library: Library, run: Query, look: Query) -> Filling:
            found = looked_at(library, run, look)
            if found is None:
                return view(library, run, look)
            recording = found.shown.recording
            # A recording that is kept is the only one with its id.
            key = (view, spoken(), id(recording), tuple(sorted(run.items())), found.look)
            _, filling, figures = self._once(key, lambda: (recording, *_apart(view(library, run, look))))
            return filling | {name: json.loads(text) for name, text in figures.items()}

        return kept

    def _once(self, key: Hashable, draw: Callable[[], Drawn]) -> Drawn:
        with self._lock:
            future = self._drawn.get(key)
            new = future is None
            if future is None:
                future = self._drawn[key] = Future()
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


def _apart(filling: Filling) -> tuple[Filling, dict[str, str]]:
    """Part what a view fills in from its figures, which are a tenth as large as JSON."""
    figures = {name: value.to_json() for name, value in filling.items() if isinstance(value, go.Figure)}
    rest: dict[str, Any] = {name: value for name, value in filling.items() if name not in figures}
    return rest, figures
