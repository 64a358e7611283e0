"""The frame of every page, which stands in the document itself: Dash draws only what changes, and so less often."""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.addresses import GALLERY, NUMBERS
from smemviz.app.components.help import help_button, help_sheet
from smemviz.app.pages.gallery_page import heading
from smemviz.app.router import pages
from smemviz.app.working import working
from smemviz.i18n import LANGUAGES, _, spoken
from smemviz.version import __version__


def above(path: str, *, editor: bool) -> list[Component]:
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
        *([html.Main(heading(), id=ids.FIRST_WORDS, **{"aria-busy": "true"})] if path == GALLERY else []),
    ]


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
