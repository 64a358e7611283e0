"""The Dash app: its frame, its pages by address, and the scripts that keep its state in the URL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from smemviz.app import browser, compare_page, gallery_page, kernel_callbacks, measured_panels
from smemviz.app.kernel_page import kernel_page
from smemviz.app.library import Library
from smemviz.app.run_view import Query
from smemviz.app.stopwatch import Stopwatch
from smemviz.errors import SmemvizError
from smemviz.resources import assets_dir, gallery
from smemviz.version import __version__

# The theme is set before anything is painted, so that a dark page never flashes white.
_INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
<title>{%title%}</title>
{%favicon%}
<script>
(function () {
  var asked = new URLSearchParams(location.search).get("theme");
  var dark = asked ? asked === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();
</script>
{%css%}
</head>
<body>
{%app_entry%}
{%config%}
{%scripts%}
{%renderer%}
</body>
</html>"""


def create_app(paths: Sequence[Path] = ()) -> Dash:
    """Build the dashboard on kernel files and recordings, or on the gallery when none are named."""
    library, stopwatch = Library(paths or gallery()), Stopwatch()
    app = Dash(
        __name__,
        title="smemviz",
        update_title="",
        assets_folder=str(assets_dir()),
        index_string=_INDEX,
        serve_locally=True,
        suppress_callback_exceptions=True,
        add_log_handler=False,
        enable_mcp=False,
        meta_tags=[
            {"name": "viewport", "content": "width=device-width, initial-scale=1"},
            {"name": "description", "content": "What a CUDA kernel really does to shared memory."},
        ],
    )
    app.layout = _frame()
    browser.add_callbacks(app)
    gallery_page.add_callbacks(app, library)
    kernel_callbacks.add_callbacks(app, library)
    measured_panels.add_callbacks(app, library, stopwatch)
    compare_page.add_callbacks(app, library, stopwatch)

    @app.callback(Output("page", "children"), Input("place", "data"), State("run", "data"), State("look", "data"))  # type: ignore[untyped-decorator]
    def route(place: Query, run: Query, look: Query) -> list[Component] | Component:
        return _page(library, stopwatch, place, run, look)

    return app


def _page(library: Library, stopwatch: Stopwatch, place: Query, run: Query, look: Query) -> list[Component] | Component:
    """Return the page for an address: ``/`` is the gallery, ``/kernel`` a kernel, ``/compare`` several."""
    if place["path"] == "/":
        return gallery_page.gallery_page(library)
    if place["path"] == "/compare":
        return compare_page.compare_page(library, stopwatch, run, look["theme"])
    if place["path"] != "/kernel":
        return _nothing("There is no such page.")
    try:
        return kernel_page(library, stopwatch, run, look)
    except SmemvizError as error:
        return _nothing(str(error))


def _nothing(text: str) -> list[Component]:
    return [
        html.Header([html.H1("Not here", className="headline"), html.P(text, className="origin")], className="title"),
        dcc.Link("Back to the gallery", href="/", className="back"),
    ]


def _frame() -> Component:
    """What stays when pages change: state, header, footer."""
    return dmc.MantineProvider(
        [
            dcc.Location(id="url", refresh=False),
            # The URL, taken apart: which page, what is run, what is looked at. Only what changed is written.
            *(dcc.Store(id=name) for name in ("place", "run", "look", "theme", "shown-block")),
            html.A("Skip to the content", href="#page", className="skip"),
            html.Header(
                [
                    dcc.Link([html.Span(className="mark"), "smemviz"], href="/", className="wordmark"),
                    html.Nav(
                        [dcc.Link("Gallery", href="/"), dcc.Link("Compare", href="/compare")],
                        **{"aria-label": "Pages"},
                    ),
                    html.Button(
                        id="toggle-theme", className="icon-button theme", type="button", **{"aria-label": "Dark theme"}
                    ),
                ],
                className="site-header",
            ),
            html.Main(html.P("Loading", className="origin"), id="page", tabIndex=-1),
            html.Footer(f"smemviz {__version__}. Nothing on this page is loaded from, or sent to, anywhere else."),
        ],
        id="provider",
        theme={
            "primaryColor": "indigo",
            "defaultRadius": "md",
            "fontFamily": "var(--sans)",
            "fontFamilyMonospace": "var(--mono)",
            "cursorType": "pointer",
            "focusRing": "auto",
            "respectReducedMotion": True,
        },
    )
