"""What the pages frame their parts with: the title of a page, what scrolls by itself, the head of a job's panel."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from dash import html
from dash.development.base_component import Component

from smemviz.app.components.written_html import Written
from smemviz.i18n import gettext as _


def page_head(prefix: str, eyebrow: str, headline: str | None = None, *below: Component, **more: Any) -> html.Header:
    """Place what a page begins with; its ids begin with a prefix, so that a callback fills them."""
    title = html.H1(headline, id=f"{prefix}-headline", className="headline")
    return html.Header([html.P(eyebrow, className="eyebrow"), title, *below], className="title", **more)


def origin(prefix: str) -> html.P:
    """Place what a page is about, below its title, or where its numbers are from, at its foot; a callback fills it."""
    return html.P(id=f"{prefix}-origin", className="origin")


def page_title(headline: str, *paragraphs: Any) -> html.Header:
    """Place the title of a page of texts, and below it what is said first of all."""
    first, *more = (
        paragraph if isinstance(paragraph, Component) else html.P(paragraph, className="origin")
        for paragraph in paragraphs
    )
    return html.Header([html.H1(headline, className="headline"), first, *more], className="title")


def scroller(
    content: Any = None, *, label: str | None = None, titled: str = "", extra: str = "", **more: Any
) -> html.Div:
    """Let something wide scroll sideways by itself, with the keys too.

    It is a region of the page, named by a label, or by the title that has the id ``titled``.
    """
    name = {"aria-labelledby": titled} if titled else {"aria-label": label}
    return html.Div(content, className=f"scroller {extra}".strip(), tabIndex=0, role="region", **name, **more)


def notice(content: Any, title: str = "", *, kind: str = "", **more: Any) -> html.Div:
    """Say what has to be known before all else; ``kind`` is ``wrong`` or ``plain``, neither is a warning."""
    head = [html.Strong(title, className="notice-title")] if title else []
    return html.Div([*head, html.Div(content)], role="alert", className=f"notice {kind}".strip(), **more)


def section(identity: str, head: str | Component, *content: Any, kind: str = "", **more: Any) -> html.Section:
    """Frame what stands under a title, or a head that has one with the id ``identity-title``: it goes by that."""
    title = f"{identity}-title"
    heading = html.H2(head, id=title) if isinstance(head, str) else head
    return html.Section([heading, *content], className=f"panel {kind}".strip(), **{"aria-labelledby": title}, **more)


class Tab(NamedTuple):
    """What shows under a tab: ``key`` tells it from the others of the page."""

    key: str
    title: str
    content: Component


def tabbed(label: str, tabs: Sequence[Tab], *foot: Component) -> html.Div:
    """Show one of several parts of a page, the first to begin with, and a foot below; ``assets/tabs.js`` switches."""
    heads: list[Component] = []
    panels: list[Component] = []
    for tab in tabs:
        head, panel, is_first = f"{tab.key}-tab", f"{tab.key}-tab-panel", not heads
        said = {"aria-selected": str(is_first).lower(), "aria-controls": panel}
        heads.append(html.Button(tab.title, id=head, type="button", role="tab", tabIndex=is_first - 1, **said))
        panels.append(
            html.Div(tab.content, id=panel, role="tabpanel", hidden=not is_first, **{"aria-labelledby": head})
        )
    names = Written(html.Div(heads, role="tablist", className="tabs", **{"aria-label": label}))
    return html.Div([names, *panels, *foot], className="tabbed")


def text_button(text: str, **more: Any) -> html.Button:
    """Place a button that is nothing but its text."""
    return html.Button(text, type="button", className="text-button", **more)


def icon_button(icon: str, label: str, title: str = "", **more: Any) -> html.Button:
    """Place a button that is a picture: the label is read out, the title, else that, shows when pointed at."""
    return html.Button(
        className=f"icon-button {icon}", type="button", title=title or label, **{"aria-label": label}, **more
    )


def job_head(title: str, identity: str, start: tuple[str, str], cancel: str, **controls: Any) -> html.Div:
    """Place the title of a panel whose job runs while the page is read, with what starts it and what cancels it."""
    return html.Div(
        [Written(html.H2(title, id=identity)), job_buttons(start, cancel, **controls)], className="panel-head"
    )


def job_buttons(start: tuple[str, str], cancel: str, **controls: Any) -> html.Div:
    """Place what starts a job and what cancels it: ``start`` is the button's text and id, ``cancel`` the other's id."""
    text, starts = start
    return html.Div(
        [text_button(text, id=starts), text_button(_("Cancel"), id=cancel, hidden=True)],
        className="panel-controls",
        **controls,
    )
