"""The browser's part: callbacks that run in ``assets/smemviz.js`` and never reach the server.

Controls write the URL and nothing else; the URL is taken apart into stores, and everything on the page follows from
those. Callbacks without an output write the URL, which is why the circle does not close in Dash's graph.
"""

from __future__ import annotations

from dash import ALL, ClientsideFunction, Dash, Input, Output, State

_CONTROLS = {"type": "control", "name": ALL}


def add_callbacks(app: Dash) -> None:
    """Connect controls, URL and stores."""

    def clientside(name: str, *dependencies: Input | Output | State, initially: bool = True) -> None:
        app.clientside_callback(ClientsideFunction("smemviz", name), *dependencies, prevent_initial_call=not initially)

    clientside(
        "read",
        *(Output(store, "data") for store in ("place", "run", "look", "theme")),
        Output("provider", "forceColorScheme"),
        Output("toggle-theme", "aria-label"),
        Input("url", "href"),
        *(State(store, "data") for store in ("place", "run", "look", "theme")),
    )
    clientside("toggle_theme", Input("toggle-theme", "n_clicks"), State("theme", "data"), initially=False)
    clientside("set_control", Input(_CONTROLS, "value"), State("shown-run", "data"), State("shown-look", "data"))
    clientside(
        "show_controls",
        Output(_CONTROLS, "value"),
        Input("shown-run", "data"),
        Input("shown-look", "data"),
        State(_CONTROLS, "id"),
        State(_CONTROLS, "value"),
    )
    clientside(
        "show_notes",
        Output(_CONTROLS, "description"),
        Input("shown-run", "data"),
        State(_CONTROLS, "id"),
        State(_CONTROLS, "description"),
    )
    clientside("reset", Input("reset", "n_clicks"), initially=False)
    source = {"type": "control", "name": "source"}
    clientside("show_source", Output(source, "disabled"), Input("shown-run", "data"), State(source, "disabled"))
    for name in ("array", "block", "elements"):
        clientside(
            "show_choice",
            Output({"type": "control", "name": name}, "data"),
            Output(f"{name}-choice", "hidden"),
            Input("shown-look", "data"),
            State({"type": "control", "name": name}, "id"),
            State({"type": "control", "name": name}, "data"),
        )
    clientside("show_block", Output("shown-block", "data"), Input("shown-look", "data"), State("shown-block", "data"))
    clientside("pick_site", Input({"type": "site", "index": ALL}, "n_clicks"), initially=False)
    clientside(
        "mark_site",
        Output({"type": "site", "index": ALL}, "aria-pressed"),
        Input("present", "data"),
        Input("source", "children"),
        State({"type": "site", "index": ALL}, "id"),
        State({"type": "site", "index": ALL}, "aria-pressed"),
    )
    clientside("pick_cell", Output("warps", "clickData"), Input("warps", "clickData"), initially=False)
    clientside("keep_order", Output("position", "max"), Input("order", "data"))
    clientside("show_position", Output("position", "value"), Input("present", "data"))
    clientside("pick_position", Input("position", "value"), State("present", "data"), initially=False)
    clientside("go_to", Input({"type": "go", "to": ALL}, "n_clicks"), initially=False)
    clientside(
        "toggle_play", Output("playing", "data"), Input("play", "n_clicks"), State("playing", "data"), initially=False
    )
    clientside(
        "play",
        Output("play", "className"),
        Output("play", "aria-label"),
        Input("playing", "data"),
        Input("present", "data"),
        State("play", "className"),
    )
