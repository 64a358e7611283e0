"""The browser's part: callbacks that run in ``assets`` and never reach the server.

Controls write the URL and nothing else; the URL is taken apart into stores, and everything on the page follows from
those. Callbacks without an output write the URL, which is why the circle does not close in Dash's graph.
"""

from typing import Any

from dash import ALL, Dash, Input, Output, State

from smemviz.app import ids
from smemviz.app.addresses import EDITOR, KERNEL, LEARN
from smemviz.app.components.connect import of_script
from smemviz.app.page import titled
from smemviz.app.pages.kernel.controls import control
from smemviz.app.pages.learn.learn_page import WHY
from smemviz.app.router import NOWHERE, pages
from smemviz.app.server.payload import CALLBACKS
from smemviz.app.state import CONSTANT, LOOK, MOST_BANKS, RUN
from smemviz.figures.drawing.style import THEMES, Theme
from smemviz.lessons.lesson import SHOW
from smemviz.reports.html.page import embedded

CHOICES = ("array", "block", "elements", "launch")  # controls whose options a run turns out to have
_CONTROLS = control(ALL)


def question(app: Dash, first: str) -> dict[str, Any]:
    """Return what Dash asks for properties of which ``first`` is the first, as it writes that, without values."""
    output, callback = next(
        (name, callback) for name, callback in app.callback_map.items() if name.startswith(f"..{first}.")
    )
    filled = [dict(zip(("id", "property"), one.rsplit(".", 1), strict=True)) for one in output.strip(".").split("...")]
    return {"output": output, "outputs": filled} | {part: callback[part] for part in ("inputs", "state")}


def names_element(app: Dash, *, editor: bool, prefix: str = "") -> str:
    """Return the element that hands scripts what they share with the server, so that it is written once."""
    names: dict[str, Any] = {
        "pages": [
            {
                "path": prefix + page.path,
                "title": titled(page.title),
                "header": prefix + (page.header or page.path),
                "below": page.below is not None,
            }
            for page in pages(editor=editor)
        ],
        "ids": ids.handed_over(),
        "nowhere": titled(NOWHERE),
        "editor": prefix + EDITOR,
        "plays": [prefix + KERNEL, prefix + EDITOR],
        "learn": prefix + LEARN,
        "run": RUN,
        "look": LOOK,
        "constant": CONSTANT,
        "choices": CHOICES,
        "most_banks": MOST_BANKS,
        "show": SHOW,
        "why": WHY,
        "themes": {name: _colours(theme) for name, theme in THEMES.items()},
        "callbacks": prefix + CALLBACKS,
        "question": question(app, "played"),
        "prefix": prefix,
    }
    return f'<script type="application/json" id="names">{embedded(names)}</script>'


def _colours(theme: Theme) -> dict[str, Any]:
    colours = {name: getattr(theme, name) for name in ("value", "idle", "frame", "unused")}
    return {"named": colours, "ramps": {"bank": theme.ramp, "faint": theme.faint}}


def add_callbacks(app: Dash) -> None:
    """Connect controls, URL and stores."""

    clientside = of_script(app, "smemviz")
    clientside(
        "read",
        *(Output(store, "data") for store in ("place", "run", "look", "theme")),
        Input("url", "href"),
        *(State(store, "data") for store in ("place", "run", "look", "theme")),
    )
    of_script(app, "smemviz_frame")("show_page", Input(ids.PAGE, "children"))
    clientside("set_control", Input(_CONTROLS, "value"), State("shown-run", "data"), State("shown-look", "data"))
    clientside(  # which writes what has changed by itself: all that is an output is drawn anew, changed or not
        "show_controls",
        Output("shown-block", "data"),
        Input("shown-run", "data"),
        Input("shown-look", "data"),
        State(_CONTROLS, "id"),
        State(_CONTROLS, "value"),
        State(_CONTROLS, "description"),
        State(control("source"), "disabled"),
        State("shown-block", "data"),
        *(State(control(name), "data") for name in CHOICES),
    )
    clientside("reset", Input("reset", "n_clicks"), initially=False)
    playback = of_script(app, "smemviz_playback")
    playback("pick_cell", Output(ids.WARPS, "clickData"), Input(ids.WARPS, "clickData"), initially=False)
    playback("show", Output(ids.POSITION, "className"), Input("played", "data"), Input("present", "data"))
    of_script(app, "smemviz_stage")("offer", Output(ids.LAYOUTS, "className"), Input("layouts", "data"))
    playback("mark", Input(ids.SOURCE, "html"), Input(ids.WHY, "html"), Input(ids.WARPS, "figure"))
