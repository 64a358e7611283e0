"""Text from anywhere, as a terminal or a spreadsheet may have it."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # C0 and C1 but for the tab and the end of a line

_LONGEST = 1000  # characters of a message; what it quotes may be longer than anyone reads

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def printable(text: str) -> str:
    """Return a text without what a terminal would obey instead of showing it."""
    return _CONTROL.sub("", text)


def spreadsheet_cell(value: object) -> object:
    """Return what goes into a cell of CSV, with an apostrophe before what a spreadsheet would take for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def brief(text: str) -> str:
    """Return a text in one line of some hundred characters, without its middle where that is longer."""
    text = one_line(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"


def one_line(text: str) -> str:
    """Return a text in one line, and as ``printable`` does."""
    return " ".join(printable(line) for line in text.splitlines())
