"""English texts that can be said in another language later, where they are read."""

from __future__ import annotations

from typing import Any


class Said(str):
    """A message in English with its values filled in, which it keeps; values that were ``Said`` stay so."""

    message: str
    values: dict[str, Any]

    def __new__(cls, message: str, /, **values: Any) -> Said:
        said = super().__new__(cls, message.format_map(values))
        said.message, said.values = message, values
        return said


def messages(*texts: str | None) -> dict[str, dict[str, Any]]:
    """Return the messages behind texts and their values, with the values, by the text; others have none."""
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        if isinstance(text, Said):
            found[str(text)] = {"message": text.message, "values": text.values}
            found |= messages(*(value for value in text.values.values() if isinstance(value, str)))
    return found
