"""The sheet of keys: what the keyboard does on the page one is on. ``assets/help.js`` opens it."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.components.frames import text_button
from smemviz.i18n import N_, _

# What a page holds when its keys work there, and the keys with what they do.
_KEYS = (
    (
        N_("On every page"),
        f"#{ids.PAGE}",
        (
            (("?",), N_("shows these keys")),
            (("Tab", "⇧ Tab"), N_("go from control to control")),
            (("Enter", "Space"), N_("press the button, open the link or the list")),
            (("Esc",), N_("closes what is open")),
            (("←", "→", "↑", "↓"), N_("scroll a figure or table that has the focus")),
        ),
    ),
    (
        N_("Requests of a kernel"),
        f"#{ids.TILE}",
        (
            (("←", "→"), N_("go to the request before or after")),
            (("↑", "↓"), N_("in the source, go from access to access")),
        ),
    ),
    (
        N_("Layouts"),
        f"#{ids.LAB_PAGE}",
        ((("←", "→"), N_("go to the request before or after")),),
    ),
    (
        N_("Matrix product"),
        f"#{ids.MATMUL_PAGE}",
        (
            (("←", "→"), N_("go to the step before or after")),
            (("Space",), N_("plays the steps and pauses")),
        ),
    ),
    (
        N_("Editor"),
        ".editor-panel",
        (
            (("Ctrl Enter", "⌘ Enter"), N_("run the text")),
            (("Esc", "Tab"), N_("one after the other, leave the text; Tab alone indents")),
        ),
    ),
    (
        N_("Lessons"),
        f"#{ids.LEARN_STEPS}",
        (
            (("p",), N_("presents the lesson")),
            (("←", "→", "Page Up", "Page Down"), N_("while presenting, go through the lesson")),
        ),
    ),
)


def help_sheet() -> Component:
    """Lay out the sheet; the parts that are not of the page it is opened on are hidden in the browser."""
    head = [
        html.H2(_("Keys"), id="help-title"),
        text_button(_("Close"), **{"data-close": ids.HELP}),
    ]
    parts = [
        html.Div(
            [html.H3(_(title)), html.Dl([_row(keys, what) for keys, what in rows])],
            className="help-part",
            **{"data-on": selector},
        )
        for title, selector, rows in _KEYS
    ]
    letters = html.Button(
        _("Keys that are a letter or a sign"),
        type="button",
        role="switch",
        className="switch",
        id=ids.LETTER_KEYS,
        **{"aria-checked": "true"},
    )
    return html.Dialog(
        [html.Div(head, className="panel-head"), *parts, html.P(letters)],
        id=ids.HELP,
        **{"aria-labelledby": "help-title"},
    )


def help_button() -> Component:
    """Return the button that opens the sheet."""
    label = _("Keys")
    return html.Button(
        "?", id=ids.OPEN_HELP, type="button", className="icon-button letter", title=label, **{"aria-label": label}
    )


def _row(keys: tuple[str, ...], what: str) -> Component:
    names = [html.Kbd(key, className="notranslate") for key in keys]
    return html.Div([html.Dt(names), html.Dd(_(what))])
