"""The layouts that were found for the arrays of a launch, which the browser draws its block in."""

from __future__ import annotations

from smemviz.app.components.launches import Filling, Query
from smemviz.app.library import Library
from smemviz.app.pages.kernel.explaining import explaining_of
from smemviz.app.pages.kernel.look_view import looked_at
from smemviz.reports.html.playback import played_layouts
from smemviz.wording.first_look import first_mistake

LAYOUTS_PROPERTIES = ("layouts.data",)


def view_layouts(library: Library, run_query: Query, look_query: Query) -> Filling:
    """Return a block in each layout; none where a mistake comes first, or where the picture is of other banks."""
    view = looked_at(library, run_query, look_query)
    if view is None:
        return {}
    recording, launch, look = view.shown_run.recording, view.launch, view.look
    other = look.view != "declared" or (look.banks or view.hardware.banks) != view.hardware.banks
    if other or first_mistake(recording, launch):
        return {"layouts.data": []}
    return {"layouts.data": played_layouts(view.now, explaining_of(recording, launch, view.hardware))}
