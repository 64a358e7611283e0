"""The frame of every page, which stands in the document itself: Dash draws only what changes, and so less often."""

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.addresses import GALLERY, NUMBERS
from smemviz.app.components.frames import text_button
from smemviz.app.library import Library
from smemviz.app.pages.gallery_page import first_gallery
from smemviz.app.router import pages
from smemviz.app.working import working
from smemviz.i18n import LANGUAGES, N_, _, spoken
from smemviz.version import __version__

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
            (("↑", "↓"), N_("in a picture, highlight one lane after another")),
            (("Esc",), N_("stops highlighting the lane")),
        ),
    ),
    (N_("Layouts"), f"#{ids.LAB_PAGE}", ((("←", "→"), N_("go to the request before or after")),)),
    (
        N_("Matrix product"),
        f"#{ids.MATMUL_PAGE}",
        ((("←", "→"), N_("go to the step before or after")), (("Space",), N_("plays the steps and pauses"))),
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


def above(path: str, library: Library, *, editor: bool) -> list[Component]:
    """Lay out what stands above a page and, where nothing has to be read for them, the first words of the page."""
    links = [html.A(_(page.link), href=page.path) for page in pages(editor=editor) if page.link]
    theme = html.Button(
        id=ids.TOGGLE_THEME, className="icon-button theme", type="button", **{"aria-label": _("Dark theme")}
    )
    return [
        html.A(_("Skip to the content"), href=f"#{ids.PAGE}", className="skip"),
        html.Header(
            [
                html.A([html.Span(className="mark"), "smemviz"], href=GALLERY, className="wordmark"),
                html.Nav(links, **{"aria-label": _("Pages")}),
                _languages(),
                help_button(),
                theme,
            ],
            className="site-header",
        ),
        help_sheet(),
        *([_first_words(library, editor=editor)] if path == GALLERY else []),
    ]


def _first_words(library: Library, *, editor: bool) -> Component:
    return html.Main(first_gallery(library, editor=editor), id=ids.FIRST_WORDS, **{"aria-busy": "true"})


def below() -> Component:
    """Lay out what stands below a page."""
    about = _("smemviz {version}. Nothing on this page is loaded from, or sent to, anywhere else.", version=__version__)
    return html.Footer([html.A(_("What the numbers mean"), href=NUMBERS), html.Span(about)])


def drawn() -> Component:
    """Lay out what Dash draws: the state, and the page."""
    return dmc.MantineProvider(
        [
            dcc.Location(id="url", refresh=False),
            # The URL, taken apart: which page, what is run, what is looked at. Only what changed is written.
            *(dcc.Store(id=name) for name in ("place", "run", "look", "theme", "shown-block")),
            html.Main(html.P(_("Loading"), className="origin"), id=ids.PAGE, tabIndex=-1),
            working(),
        ],
        id=ids.PROVIDER,
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


def _languages() -> Component:
    """Offer the page in the other languages, each in its own words; ``assets/smemviz.js`` keeps the rest of the URL."""
    links = [html.A(name, href=f"?lang={tag}", lang=tag, hrefLang=tag) for tag, name in LANGUAGES.items()]
    here = html.Summary(LANGUAGES[spoken()], className="text-button", **{"aria-label": _("Language")})
    return html.Details([here, html.Div(links, className="language-links")], className="languages")


def help_sheet() -> Component:
    """Lay out the sheet; the parts that are not of the page it is opened on are hidden in the browser."""
    head = [html.H2(_("Keys"), id="help-title"), text_button(_("Close"), **{"data-close": ids.HELP})]
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
