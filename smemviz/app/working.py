"""What is being run for a page, on every page: how far it is, and a button that stops it."""

from dash import Dash, Input, Output, ctx, dcc, html
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.components.connect import fill, of_script
from smemviz.app.components.launches import Filling
from smemviz.app.library import Library
from smemviz.i18n import _

_MILLISECONDS = 800  # between two looks at how far it is
WORKING_PROPERTIES = (f"{ids.WORKING}.hidden", "working-text.children", "working-done.value", "working-done.max")


def working() -> Component:
    """Lay out what is shown while something runs for longer than a moment."""
    return html.Div(
        [
            html.Span(id="working-text", role="status"),
            html.Progress(id="working-done", value="0", max="1", **{"aria-label": _("Blocks that have run")}),
            html.Button(_("Stop"), id="stop-working", type="button", className="text-button"),
            dcc.Interval(id=ids.WORKING_POLL, interval=_MILLISECONDS, disabled=True),
            dcc.Store(id="working-asked"),  # how often it was asked how far it is
        ],
        id=ids.WORKING,
        className="working",
        hidden=True,
    )


def add_callbacks(app: Dash, library: Library) -> None:
    """Ask how far it is for as long as the page waits for an answer; ``assets/working.js`` knows when that is."""

    clientside = of_script(app, "smemviz_working")
    clientside("watch", Input("run", "data"), Input("place", "data"))
    clientside(
        "ask",
        Output("working-asked", "data"),
        Output(ids.WORKING_POLL, "disabled"),
        Output(ids.WORKING, "hidden", allow_duplicate=True),
        Input(ids.WORKING_POLL, "n_intervals"),
        initially=False,
    )

    def show_working(turn: int | None, clicks: int | None) -> Filling:
        if ctx.triggered_id == "stop-working" and clicks:
            library.stop()
        return view_working(library)

    inputs = Input("working-asked", "data"), Input("stop-working", "n_clicks")
    fill(app, WORKING_PROPERTIES, show_working, *inputs, initially=False)


def view_working(library: Library) -> Filling:
    """Show what runs; nothing where nothing does."""
    now = library.now
    text = ""
    if now is not None:
        of_kernel = _("Running {file}: {kernel}", file=now.file, kernel=now.kernel)
        text = of_kernel if now.kernel else _("Running {file}", file=now.file)
    return {
        f"{ids.WORKING}.hidden": now is None,
        "working-text.children": text,
        "working-done.value": str(now.done if now else 0),
        "working-done.max": str(now.total if now else 1),
    }
