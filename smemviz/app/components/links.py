"""Links to an access on other pages."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

SEVERAL = "\n"  # between values, where a URL says their name once more


def pick_of(file: str, kernel: str, number: int) -> str:
    """Write a pick as it stands in the URL; the number counts the launches of one kernel from 0."""
    return f"{file}:{kernel}" + (f":{number}" if number else "")


def query_of(state: Mapping[str, str]) -> str:
    """Write what stands in a URL again; lines of one value were said one after the other under the same name."""
    return urlencode([(name, value) for name, joined in state.items() for value in joined.split(SEVERAL)])


def access_query(run: Mapping[str, str], look: Mapping[str, str]) -> str:
    """Write the query under which this page shows a request of a kernel."""
    return urlencode({**run, **{name: value for name, value in look.items() if name != "theme"}})
