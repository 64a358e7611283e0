"""The state of the page, which lives in its URL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from smemviz.errors import InputError
from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.tile import View
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.places import is_place

Source = Literal["recording", "lockstep"]

# The names in the URL: of what is run and compared, beside the constants; and of what of it is looked at.
RUN = ("file", "kernel", "launch", "source", "cc", "against", "task", "teach", "present")
LOOK = ("block", "site", "warp", "step", "at", "view", "banks", "array", "elements", "scope")
CONSTANT = "^_?[A-Z]"  # how the name of a constant begins, as front ends have it


@dataclass(frozen=True)
class RunState:
    """What is run and counted: a launch of a file with constants, for a compute capability."""

    file: str = ""
    kernel: str | None = None
    launch: int = 0
    constants: Mapping[str, str] = field(default_factory=dict)
    source: Source | None = None
    hardware: Hardware | None = None

    @staticmethod
    def read(query: Mapping[str, str]) -> RunState:
        """Read the query of a URL; names in capitals are constants, what makes no sense is left out."""
        source = query.get("source")
        return RunState(
            query.get("file", ""),
            _name(query, "kernel"),
            _integer(query, "launch") or 0,
            {name: value for name, value in query.items() if re.match(CONSTANT, name)},
            source if source in ("recording", "lockstep") else None,  # type: ignore[arg-type]
            _hardware(query.get("cc", "")),
        )


@dataclass(frozen=True)
class LookState:
    """What of it is looked at, and how."""

    block: int | None = None
    site: int | None = None
    warp: int | None = None
    step: int | None = None
    at: str = ""  # where the access stands in the source that was shown before a knob or the kernel changed
    view: View = "declared"
    banks: int | None = None
    array: str | None = None
    elements: str | None = None
    whole: bool = False
    theme: ThemeName = "light"

    @staticmethod
    def read(query: Mapping[str, str]) -> LookState:
        """Read the query of a URL; what makes no sense is left out."""
        banks = _integer(query, "banks")
        return LookState(
            _integer(query, "block"),
            _integer(query, "site"),
            _integer(query, "warp"),
            _integer(query, "step"),
            query.get("at", "") if is_place(query.get("at", "")) else "",
            "physical" if query.get("view") == "physical" else "declared",
            banks if banks is not None and 1 <= banks <= MOST_BANKS else None,
            _name(query, "array"),
            _name(query, "elements"),
            query.get("scope") == "launch",
            "dark" if query.get("theme") == "dark" else "light",
        )


MOST_BANKS = 64
_LONGEST_NAME = 1000


def _hardware(text: str) -> Hardware | None:
    """Read what stands in the URL; a bank mode that the GPU lacks is left out."""
    for part in (text, text.partition("-")[0]):
        try:
            return Hardware.read(part)
        except InputError:
            continue
    return None


def _name(query: Mapping[str, str], name: str) -> str | None:
    """Read the name of a kernel or of an array; what is longer than any is left out."""
    text = query.get(name)
    return text if text is None or len(text) <= _LONGEST_NAME else None


def _integer(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else None
