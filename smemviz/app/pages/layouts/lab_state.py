"""The state of the layout lab, which lives in its URL: a text for every array and access, as the model reads them.

``A`` is the array of the first set-up, ``A-access`` its accesses, ``cc`` what counts them; ``B`` stands for a second
one, and what ``B-access`` and ``B-cc`` leave out is as in the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from smemviz.errors import InputError
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.layout.accesses import access_of
from smemviz.model.layout.layouts import Layout, layout_of, whole
from smemviz.model.layout.swizzles import swizzle_of
from smemviz.views.layout_lab import LabView, SetUp

SIDES = ("A", "B")
MOST_ACCESSES = 4
ARRAY = "32x32 float32"
ACCESSES = ("row; op=store", "column")

Field = tuple[str, int]  # the name of a control, and of which access it is
Errors = dict[Field, str]


@dataclass(frozen=True)
class Side:
    """One set-up as it was asked for, or what is wrong with it, by control."""

    setup: SetUp | None
    errors: Errors


@dataclass(frozen=True)
class LabState:
    """The set-ups by name, and which request of which access is pictured how; numbers count from 0."""

    sides: Mapping[str, Side]
    access: int | None = None
    request: int | None = None
    view: LabView = "index"

    @staticmethod
    def read(query: Mapping[str, str]) -> LabState:
        """Read the query of a URL; without an array it is a tile that is written by rows and read by columns."""
        accesses = query.get("A-access", "\n".join(ACCESSES))
        sides = {"A": _side(query.get("A", ARRAY), accesses, query.get("cc", ""))}
        if "B" in query:
            sides["B"] = _side(query["B"], query.get("B-access", accesses), query.get("B-cc", query.get("cc", "")))
        view: LabView = "banks" if query.get("VIEW") == "banks" else "index"
        return LabState(sides, _number(query.get("ACCESS", "")), _number(query.get("REQUEST", "")), view)


def lab_query(array: str, accesses: Sequence[str], second: str = "", cc: str = "") -> str:
    """Write the query of a URL."""
    pairs = [("A", array), *(("A-access", access) for access in accesses)]
    pairs += [("B", second)] * bool(second) + [("cc", cc)] * bool(cc)
    return urlencode(pairs)


def _side(array: str, accesses: str, cc: str) -> Side:
    errors: Errors = {}
    layout = _layout(array, errors)
    parsed = []
    for i, text in enumerate(accesses.split("\n")[:MOST_ACCESSES]):
        try:
            parsed.append(access_of(text))
        except InputError as error:
            errors["pattern", i] = str(error)
    hardware = H200
    try:
        hardware = Hardware.read(cc) if cc else H200
    except InputError as error:
        errors["cc", 0] = str(error)
    if layout is None or errors:
        return Side(None, errors)
    setup = SetUp(layout, tuple(parsed), hardware)
    for i in range(len(parsed)):
        try:
            setup.totals(i)
        except InputError as error:
            errors["pattern", i] = str(error)
    return Side(None if errors else setup, errors)


def _layout(text: str, errors: Errors) -> Layout | None:
    """Read an array field by field, so that what is wrong is said at its control."""
    first, *options = text.split(";")
    name = "shape"
    try:
        layout = layout_of(first)
        for option in options:
            name = option.partition("=")[0].strip()
            value = option.partition("=")[2].strip()
            if name == "swizzle":
                layout = replace(layout, swizzle=swizzle_of(value))
            elif name in ("pitch", "pad", "base"):
                layout = replace(layout, **{name: whole(name, value)})  # type: ignore[arg-type]
            elif option.strip():
                layout_of(text)  # says what there is
    except InputError as error:
        place = name if name in ("shape", "pitch", "pad", "base", "swizzle") else "shape"
        errors["dtype" if "dtype" in str(error) else place, 0] = str(error)
        return None
    return layout


def _number(text: str) -> int | None:
    return int(text) - 1 if text.isdecimal() and 0 < len(text) < 8 else None
