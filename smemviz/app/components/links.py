"""Links to an access on other pages."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode


def pick_of(file: str, kernel: str, number: int) -> str:
    """Write a pick as it stands in the URL; the number counts the launches of one kernel from 0."""
    return f"{file}:{kernel}" + (f":{number}" if number else "")


def access_query(run: Mapping[str, str], look: Mapping[str, str]) -> str:
    """Write the query under which this page shows a request of a kernel."""
    return urlencode({**run, **{name: value for name, value in look.items() if name != "theme"}})
