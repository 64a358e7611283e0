"""Text from anywhere, as a terminal may have it."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # C0 and C1 but for the tab and the end of a line


def printable(text: str) -> str:
    """Return a text without what a terminal would obey instead of showing it."""
    return _CONTROL.sub("", text)


def one_line(text: str) -> str:
    """Return a text in one line, and as ``printable`` does."""
    return " ".join(printable(line) for line in text.splitlines())
