"""The controls of the kernel page. Each carries the name its value has in the URL."""

from collections.abc import Collection, Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.components.frames import icon_button
from smemviz.app.components.written_html import Written
from smemviz.app.state import MOST_BANKS
from smemviz.frontends.program import Constant, Program
from smemviz.frontends.reading import frontend_of
from smemviz.i18n import _
from smemviz.model.hardware.compute_capability import known
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.vocabulary import DTYPES
from smemviz.wording.labels import names

_SHOWN_DTYPES = ("int8", "uint8", "int16", "int32", "uint32", "int64", "float16", "float32", "float64")


def control(name: str) -> dict[str, str]:
    """Return the id of the control for a name in the URL."""
    return {"type": ids.CONTROL, "name": name}


def knobs(program: Program, kernel: str | None = None) -> Component:
    """One control per constant, those that the kernel does not read folded away.

    What is computed from other constants says so, and is overridden by typing.
    """
    read = _read(program, kernel)
    knobs_by_name = {name: _knob(program, constant) for name, constant in program.constants.items()}
    fields = [knob for name, knob in knobs_by_name.items() if name in read]
    others = [name for name in knobs_by_name if name not in read]
    if others:
        head = html.Summary(_("Not read by this kernel: {names}", names=names(*others)))
        inside = html.Div([knobs_by_name[name] for name in others], className="knobs")
        fields.append(
            html.Details(
                [head, inside], className="other-knobs", open=any(name in program.overrides for name in others)
            )
        )
    return html.Div(fields, id="knobs", className="knobs")


def knob_kinds(program: Program, kernel: str | None = None) -> list[list[str]]:
    """Return what tells the knobs of one page from those of another: names, kinds, and whether they are folded."""
    read = _read(program, kernel)
    return [[name, constant.kind, *["folded"] * (name not in read)] for name, constant in program.constants.items()]


def _read(program: Program, kernel: str | None) -> Collection[str]:
    """Return the constants that a kernel reads: all where that cannot be told."""
    read = frontend_of(program.language).constants_read(program, kernel) if kernel else None
    return program.constants if read is None else read


def knob_note(program: Program, constant: Constant) -> str:
    """Say where a constant's value comes from: its line, what it is computed from, or that it was set here."""
    if constant.name in program.overrides:
        return _("set, was {value}", value=constant.text)
    return f"= {constant.text}" if constant.depends else _("line {n}", n=constant.line)


def _knob(program: Program, constant: Constant) -> Component:
    identity = control(constant.name)
    shared: dict[str, Any] = {
        "label": constant.name,
        "description": knob_note(program, constant),
        "size": "sm",
        "className": "knob",
    }
    value = str(constant.value)
    if constant.kind in ("dtype", "bool"):
        names = sorted({*_SHOWN_DTYPES, DTYPES.get(value, value)}) if constant.kind == "dtype" else ["True", "False"]
        return dmc.Select(id=identity, data=names, value=value, allowDeselect=False, **shared)
    return dmc.NumberInput(
        id=identity,
        value=constant.value,
        step=1 if constant.kind == "int" else 0.1,
        allowDecimal=constant.kind == "float",
        stepHoldDelay=400,
        stepHoldInterval=120,
        **shared,
    )


def hardware_options() -> list[dict[str, Any]]:
    """Return every GPU to choose, those that were measured apart; 3.x is there once for each bank mode."""
    groups: dict[str, list[dict[str, str]]] = {}
    for row in reversed(known()):
        for mode in row.bank_bytes:
            hardware = Hardware(row.cc, mode)
            option = {"value": hardware.key, "label": f"{hardware.name} {row.family}"}
            groups.setdefault(row.basis.kind, []).append(option)
    names = {"measured": _("Measured"), "documented": _("Documented")}
    return [{"group": names[kind], "items": items} for kind, items in groups.items()]


def hardware_select(chosen: Hardware) -> Component:
    """Choose the compute capability whose rules count."""
    return dmc.Select(
        id=control("cc"),
        label=_("Counted for"),
        value=chosen.key,
        data=hardware_options(),
        allowDeselect=False,
        size="sm",
        maxDropdownHeight=320,
    )


def source_switch() -> Component:
    """Choose between the recording that is on file and a fresh run in lockstep."""
    return html.Div(
        [
            html.Span(_("Requests from"), className="label", id="source-label"),
            dmc.SegmentedControl(
                id=control("source"),
                data=[
                    {"value": "recording", "label": _("Recording")},
                    {"value": "lockstep", "label": _("Lockstep run")},
                ],
                size="sm",
                **{"aria-labelledby": "source-label"},
            ),
        ],
        className="field",
    )


def view_switch() -> Component:
    """Choose the rows of the tile picture."""
    texts = {"declared": _("As declared"), "physical": _("Rows of banks")}
    return _switch("view", _("Rows of the tile picture"), texts, "declared")


def scope_switch() -> Component:
    """Choose whose touches of the elements are counted."""
    texts = {"block": _("This block"), "launch": _("All blocks")}
    return _switch("scope", _("Blocks whose accesses are counted"), texts, "block")


def _switch(name: str, label: str, texts: Mapping[str, str], chosen: str) -> Component:
    """Choose one of a few values, each by its text."""
    data = [{"value": value, "label": text} for value, text in texts.items()]
    return dmc.SegmentedControl(id=control(name), data=data, value=chosen, size="xs", **{"aria-label": label})


def drawing_options() -> Component:
    """Choose how the tile is drawn, in a box that opens."""
    inside = html.Div([view_switch(), banks_input()], className="option-fields")
    head = html.Summary(_("View"), className="text-button", **{"aria-label": _("How the tile is drawn")})
    return html.Details([head, inside], className="options")


def banks_input() -> Component:
    """Choose how many banks are drawn."""
    return dmc.NumberInput(
        id=control("banks"),
        leftSection=_("banks"),
        leftSectionWidth=52,
        min=1,
        max=MOST_BANKS,
        clampBehavior="strict",  # what is out of range is not typed, so it never gets into the URL
        size="xs",
        w=112,
        **{"aria-label": _("Number of banks to draw")},
    )


def choice(name: str, label: str) -> Component:
    """Choose among what a run turns out to have, by typing where that is much; hidden while there is one only."""
    return html.Div(
        dmc.Select(
            id=control(name),
            data=[],
            allowDeselect=False,
            searchable=True,
            limit=100,
            size="xs",
            w=150,
            **{"aria-label": label},
        ),
        id={"type": ids.CHOICE, "name": name},
        hidden=True,
    )


def playback() -> Component:
    """Step through the requests of a block."""
    buttons = [
        icon_button("first", _("First request"), **{"data-go": "first"}),
        icon_button("previous", _("Previous request"), _("Previous request (left arrow)"), **{"data-go": "previous"}),
        html.Button(id=ids.PLAY, className="icon-button play", type="button", **{"aria-label": _("Play")}),
        icon_button("next", _("Next request"), _("Next request (right arrow)"), **{"data-go": "next"}),
        icon_button("last", _("Last request"), **{"data-go": "last"}),
    ]
    speeds = _switch("speed", _("Requests per second"), {str(n): f"{n}/s" for n in (1, 4, 12)}, "4")
    return html.Div(
        [
            Written(html.Output(id=ids.POSITION_TEXT, className="position-text")),  # which the script writes
            Written(html.Div(buttons, className="buttons", role="group", **{"aria-label": _("Playback")})),
            Written(html.Div(id=ids.POSITION, className="position")),  # the script's slider
            speeds,
        ],
        className="playback",
    )
