"""Reading what callbacks fill a page with."""

from __future__ import annotations


def text(filling: dict[str, object], name: str) -> str:
    """Return what a filled part of the page says."""
    parts: list[str] = []

    def collect(part: object) -> None:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, list):
            for one in part:
                collect(one)
        elif part is not None:
            collect(getattr(part, "children", None))

    collect(filling[name])
    return "".join(parts)
