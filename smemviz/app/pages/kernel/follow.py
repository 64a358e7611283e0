"""Following a kernel file: what is saved in an editor is on the page a moment later.

The browser asks for the file's version; when that is another one, the page is filled anew from the same URL. While the
file cannot be read or run, the page says why and keeps its last picture.
"""

import hashlib
from pathlib import Path

from dash import Dash, Input, State, dcc
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.components.connect import fill
from smemviz.app.components.launches import Filling, Query
from smemviz.app.library import Library
from smemviz.errors import InputError
from smemviz.frontends.reading import read_program

_MILLISECONDS = 300  # between two questions: a glance from the editor to the browser takes longer


def version(path: Path) -> str | None:
    """Return what changes when a kernel file, or a module beside it that it imports, says something else.

    None where there is no file: an editor may be about to put the new one in its place.
    """
    if not path.exists():
        return None
    try:
        program = read_program(path)
    except InputError as error:
        return str(error)
    return hashlib.sha256(repr((program.sha256, program.helper_hashes())).encode()).hexdigest()


def follower() -> list[Component]:
    """Return what has a kernel page ask for the version of its file; it shows nothing itself."""
    return [dcc.Interval(id="follow", interval=_MILLISECONDS)]


def add_callbacks(app: Dash, library: Library) -> None:
    """Connect the question."""

    def ask(turn: int, run: Query, before: str | None) -> Filling:
        try:
            path = library.kernel_file(run.get("file", ""))
        except InputError:  # the page says it
            return {}
        now = version(path) if path else None
        return {} if now in (None, before) else {f"{ids.VERSION}.data": now}

    known = State("run", "data"), State(ids.VERSION, "data")
    fill(app, (f"{ids.VERSION}.data",), ask, Input("follow", "n_intervals"), *known, initially=False)
