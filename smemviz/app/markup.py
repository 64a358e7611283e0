"""Components of Dash's html as the text of a page: what stands there before any script has run, and never changes."""

from __future__ import annotations

from html import escape

from dash.development.base_component import Component

_NAMES = {"className": "class"}  # HTML does not tell capitals from small letters: tabIndex is tabindex


def markup(part: object) -> str:
    """Write a component, a text, or a list of those as HTML."""
    if part is None:
        return ""
    if isinstance(part, list | tuple):
        return "".join(markup(one) for one in part)
    if not isinstance(part, Component):
        return escape(str(part))
    written = part.to_plotly_json()
    tag, attributes = written["type"].lower(), dict(written["props"])
    inside = markup(attributes.pop("children", None))
    named = "".join(f' {_NAMES.get(name, name)}="{escape(str(value))}"' for name, value in attributes.items())
    return f"<{tag}{named}>{inside}</{tag}>"
