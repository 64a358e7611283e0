"""The layouts that were found for the arrays of a launch, which the browser draws its block in; and these as a GIF."""

from importlib.util import find_spec
from threading import Lock

from dash import Dash
from flask import Response, request

from smemviz.app.addresses import KERNEL
from smemviz.app.components.launches import Filling, Query
from smemviz.app.library import Library
from smemviz.app.pages.kernel.explaining import explaining_of
from smemviz.app.pages.kernel.look_view import looked_at
from smemviz.errors import InputError
from smemviz.reports.animation import stage_animation
from smemviz.reports.html.playback import played_layouts
from smemviz.suggest.rewrites import difference
from smemviz.views.stage import staged_layouts
from smemviz.wording.first_look import first_mistake

LAYOUTS_PROPERTIES = ("layouts.data",)
GIF_PATH = f"{KERNEL}.gif"
_DRAWING = Lock()  # it takes seconds of a core: one at a time


def view_layouts(library: Library, run_query: Query, look_query: Query) -> Filling:
    """Return a block in each layout, with its fix where that can be written.

    There is none where a mistake comes first, or where the picture is of other banks.
    """
    view = looked_at(library, run_query, look_query)
    if view is None:
        return {}
    recording, launch, look = view.shown_run.recording, view.launch, view.look
    other = look.view != "declared" or (look.banks or view.hardware.banks) != view.hardware.banks
    if other or first_mistake(recording, launch):
        return {"layouts.data": []}
    explaining = explaining_of(recording, launch, view.hardware)
    played = played_layouts(view.now, explaining)
    if not launch.file:  # a kernel of another file is not written anew
        for facts, layout in zip(played, staged_layouts(explaining), strict=True):
            changes = [(launch.arrays[i], change) for i, change in layout.changes.items()]
            facts["fix"] = difference(view.shown_run.program, changes) if changes else ""
    return {"layouts.data": played}


def can_draw() -> bool:
    """Tell whether this machine can make a GIF."""
    return find_spec("PIL") is not None


def serve_gif(app: Dash, library: Library) -> None:
    """Serve what ``smemviz export --figure stage`` writes, of the request that the query of the kernel page names."""

    def serve() -> Response:
        query = request.args.to_dict()
        view = looked_at(library, query, query) if can_draw() else None
        if view is None:
            return Response("smemviz: nothing to draw\n", 400, mimetype="text/plain")
        try:
            with _DRAWING:
                drawn = stage_animation(view.shown_run.recording, view.now, view.hardware, view.look.theme)
        except InputError as error:
            return Response(f"{error}\n", 400, mimetype="text/plain")
        return Response(drawn, mimetype="image/gif")

    app.server.add_url_rule(GIF_PATH, "kernel_gif", serve)
