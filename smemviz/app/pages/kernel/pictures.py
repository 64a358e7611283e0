"""Pictures that were drawn before: who steps back, and whoever looks at what others looked at, need not wait."""

import json
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, NamedTuple
from weakref import ref
from zlib import compress, decompress

import plotly.graph_objects as go

from smemviz.app.cache import Cache, size_of
from smemviz.app.components.launches import Filling, Query
from smemviz.app.library import Library
from smemviz.app.pages.kernel.look_view import ShownRequest, looked_at
from smemviz.app.state import RunState
from smemviz.i18n import spoken
from smemviz.recordings.recording import Recording

_MOST = 128 << 20  # bytes; an answer takes some 15 kB, its figures as compressed JSON

View = Callable[[Library, Query, Query], Filling]


class _Drawn(NamedTuple):
    of: ref[Recording]
    rest: Filling  # what is no figure
    figures: dict[str, bytes]  # as compressed JSON


class Pictures:
    """What views drew of a recording, the latest ``_MOST`` bytes; two who ask at once are drawn for once."""

    def __init__(self) -> None:
        self._drawn: Cache[Hashable, _Drawn] = Cache(_MOST, lambda drawn: size_of((drawn.rest, drawn.figures)))

    def cached(self, view: View) -> View:
        """Return the view, drawing only what was not drawn before."""

        @wraps(view)
        def answer(library: Library, run: Query, look: Query) -> Filling:
            shown_request = looked_at(library, run, look)
            if shown_request is None:
                return view(library, run, look)
            of, query = shown_request.shown_run.recording, _full_query(shown_request, run)
            key = (view, spoken(), id(of), tuple(query.items()), shown_request.hardware, shown_request.look)
            known = self._drawn.get(key)
            if known is not None and known.of() is not of:  # another has the id of one that is gone
                self._drawn.forget(key)
            drawn = self._drawn.once(key, lambda: _apart(of, view(library, query, look)))
            return drawn.rest | {name: json.loads(decompress(packed)) for name, packed in drawn.figures.items()}

        return answer


def _full_query(shown_request: ShownRequest, run: Query) -> Query:
    """Return what of a query was read, in one way of writing it: the rest of a URL is not kept."""
    state, program = RunState.read(run), shown_request.shown_run.program
    launch, nth = next(pair for pair in shown_request.shown_run.numbered() if pair[0] is shown_request.launch)
    query = {"file": state.file, "kernel": launch.kernel, "launch": str(nth)}
    query |= {name: str(program.values[name]) for name in sorted(program.overrides)}
    if state.source is not None:
        query["source"] = state.source
    if state.hardware is not None:
        query["cc"] = state.hardware.key
    return query


def _apart(of: Recording, filling: Filling) -> _Drawn:
    """Part what a view fills in from its figures, whose thousands of texts are much alike and pack well."""
    figures = {
        name: compress((value.to_json() if isinstance(value, go.Figure) else json.dumps(value)).encode(), level=1)
        for name, value in filling.items()
        if isinstance(value, go.Figure) or name in ("played.data", "layouts.data")
    }
    rest: dict[str, Any] = {name: value for name, value in filling.items() if name not in figures}
    return _Drawn(ref(of), rest, figures)
