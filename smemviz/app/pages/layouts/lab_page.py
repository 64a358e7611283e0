"""The layout lab: an array, the accesses to it, and what they cost; two set-ups side by side, and a search."""

from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.addresses import GPUS, LAB, SWIZZLES
from smemviz.app.components.frames import origin, page_head, scroller, section, text_button
from smemviz.app.components.graph import download
from smemviz.app.components.written_html import Drawn, Kind
from smemviz.app.pages.kernel.controls import hardware_options
from smemviz.app.pages.layouts.lab_state import ACCESSES, ARRAY, MOST_ACCESSES, SIDES, lab_query
from smemviz.i18n import N_, _
from smemviz.model.hardware.hardware import H200
from smemviz.model.layout.accesses import PATTERNS
from smemviz.recordings.vocabulary import DTYPES, MATRICES, WIDTHS

_SWIZZLES = ("xor 5", "xor 3 2", "Swizzle<3, 3, 3>", "Swizzle<3, 2, 5>", "column ^ row")
_FORMULAS = ("lane, warp", "lane, 0, lane < 16")
_OPERATIONS = ("load", "store", *MATRICES, "atomic_add", "atomic_max", "reduce_add", "reduce_inc")
_DTYPES = [name for name in dict.fromkeys(DTYPES.values()) if not name.startswith("complex")]
_HIGHEST = 440  # pixels of a picture; both are on the first screen
_NARROW = {"across": N_("Across"), "warps": N_("Warps"), "steps": N_("Steps")}
_HELP = N_(
    "An access is a pattern, or a formula for the index in lane, warp and step, such as lane, warp. A last part may "
    "say which lanes are on: lane, 0, lane < 16. A swizzle is xor BITS BASE SHIFT, which is CuTe's Swizzle<B, M, S> "
    "counted in elements, or a formula for the column in row and column."
)
_TILE_NOTE = N_("Strong: what the access asks for at some request. Bold, corner marked: a lane in conflict.")
_PRESETS = {
    N_("32 x 32 floats, by column"): lab_query(ARRAY, ACCESSES, f"{ARRAY}; pad=1"),
    N_("16 x 32 rectangle, pad 2"): lab_query("16x32 int32", ACCESSES, "16x32 int32; pad=2"),
    N_("float64 in rows of 33"): lab_query("32x32 float64", ACCESSES, "32x32 float64; pad=1"),
    N_("float4 in a row"): lab_query(ARRAY, ("row; width=16",)),
    N_("float4 down a column"): lab_query(ARRAY, ("row; op=store; width=16", "column; width=16"), f"{ARRAY}; pad=4"),
    N_("ldmatrix of 16 bits"): lab_query(
        "32x64 float16",
        ("row; op=store; width=16", "matrices; op=ldmatrix_x4"),
        "32x64 float16; swizzle=Swizzle<3, 3, 3>",
    ),
    N_("8-byte banks of 3.x"): lab_query("16x32 int32", ACCESSES, "16x32 int32; pad=2", "3.5-8"),
}


def lab_page() -> Component:
    """Lay out the page; callbacks and ``assets/lab.js`` fill it."""
    return html.Div(
        [
            page_head("lab", _("Layout lab"), _("A layout for shared memory"), origin("lab")),
            examples(LAB),
            html.Div(
                [
                    html.Div([*(part for side in SIDES for part in _form(side)), _look()], className="lab-forms"),
                    html.Div([_results(side) for side in SIDES], className="lab-pair lab-shown"),
                ],
                className="lab-main",
            ),
            _search(),
            dcc.Store(
                id="lab-defaults",
                data={
                    "A": ARRAY,
                    "A-access": "\n".join(ACCESSES),
                    "patterns": PATTERNS,
                    "most": MOST_ACCESSES,
                    "cc": H200.key,
                },
            ),
            dcc.Store(id="lab-shown"),
            dcc.Store(id="lab-cheapest"),
        ],
        id=ids.LAB_PAGE,
    )


def examples(path: str) -> Component:
    """Link a page that takes a set-up to some that are worth a look."""
    return html.Nav(
        [dcc.Link(_(name), href=f"{path}?{query}", className="kernel-link") for name, query in _PRESETS.items()],
        className="kernels lab-presets",
        **{"aria-label": _("Examples")},
    )


def control(side: str, name: str, at: int = 0) -> dict[str, Any]:
    """Return the id of a control of a set-up; ``at`` is the access it belongs to."""
    return {"type": "lab", "side": side, "name": name, "at": at}


def button(side: str, name: str, at: int = 0) -> dict[str, Any]:
    """Return the id of a button of a set-up."""
    return {"type": "lab-button", "side": side, "name": name, "at": at}


def _form(side: str) -> list[Component]:
    """Lay out an array, and below it, or on a narrow screen below the pictures, the accesses to it."""
    second = side == "B"
    head = [text_button(_("Swap"), id=button(side, "swap")), text_button(_("Close"), id=button(side, "close"))]
    compare = text_button(_("Compare with another"), id=button(side, "compare"))
    controls = html.Div(head if second else [compare], className="panel-controls")
    title = html.H2(_("Set-up {side}", side=side), id=f"lab-{side}-title")
    shared = [dmc.Checkbox(id=control(side, "same"), label=_("Accesses as in A"), size="sm")] if second else []
    add = text_button(_("Add an access"), id=button(side, "add"))
    accesses = [*(_access(side, at) for at in range(MOST_ACCESSES)), add]
    help_text = (
        [] if second else [html.Details([html.Summary(_("How these are written")), html.P(_(_HELP))], className="note")]
    )
    array = section(
        f"lab-{side}",
        html.Div([title, controls], className="panel-head"),
        html.Div(_array(side), className="lab-fields"),
        id=f"lab-{side}",
        kind="lab-side",
    )
    accessed = section(
        f"lab-{side}-by",
        html.Div(
            [html.H2(_("Accesses of {side}", side=side), id=f"lab-{side}-by-title"), *shared],
            className="lab-accesses-head",
        ),
        html.Div(accesses, id=f"lab-{side}-accesses", className="lab-accesses"),
        *help_text,
        kind="lab-side lab-by",
    )
    return [array, accessed]


def _array(side: str) -> list[Component]:
    number: dict[str, Any] = {"min": 0, "allowDecimal": False, "size": "sm", "debounce": 250}
    return [
        dmc.TextInput(id=control(side, "shape"), label=_("Shape"), debounce=250, size="sm", w=110),
        dmc.Select(
            id=control(side, "dtype"), label=_("Data type"), data=_DTYPES, allowDeselect=False, size="sm", w=116
        ),
        dmc.NumberInput(id=control(side, "pad"), label=_("Pad"), w=84, **number),
        dmc.NumberInput(id=control(side, "pitch"), label=_("Row pitch"), placeholder=_("columns"), w=104, **number),
        dmc.NumberInput(id=control(side, "base"), label=_("First byte"), w=104, **number),
        dmc.Autocomplete(
            id=control(side, "swizzle"), label=_("Swizzle"), placeholder=_("none"), data=list(_SWIZZLES), debounce=250,
            clearable=True, size="sm", className="lab-wide", clearButtonProps={"aria-label": _("No swizzle")},
        ),
        dmc.Select(
            id=control(side, "cc"), label=_("Counted for"), data=hardware_options(), allowDeselect=False, size="sm",
            maxDropdownHeight=320, w=170,
        ),
    ]  # fmt: skip


def _access(side: str, at: int) -> Component:
    widths = [{"value": "element", "label": _("element")}, *({"value": str(n), "label": str(n)} for n in WIDTHS)]
    small: dict[str, Any] = {
        "min": 1,
        "allowDecimal": False,
        "placeholder": _("auto"),
        "size": "xs",
        "w": 66,
        "debounce": 250,
    }
    fields = [
        dmc.Autocomplete(
            id=control(side, "pattern", at), label=_("Pattern {number}", number=at + 1),
            data=[*PATTERNS, *_FORMULAS], debounce=250, size="xs", className="lab-wide",
            filter={"function": "allOrAlike"},
        ),
        dmc.Select(
            id=control(side, "op", at), label=_("Operation"), data=list(_OPERATIONS), allowDeselect=False, size="xs",
            w=116,
        ),
        dmc.Select(
            id=control(side, "width", at), label=_("Bytes per lane"), data=widths, allowDeselect=False, size="xs", w=92
        ),
        html.Button(
            "✕", id=button(side, "remove", at), className="text-button lab-remove", type="button",
            title=_("Remove access {number}", number=at + 1),
            **{"aria-label": _("Remove access {number} of {side}", number=at + 1, side=side)},
        ),
        html.Details(
            [
                html.Summary(_("More")),
                html.Div(
                    [dmc.NumberInput(id=control(side, field, at), label=_(label), **small)
                     for field, label in _NARROW.items()],
                    className="lab-access",
                ),
            ],
            className="lab-more",
        ),
    ]  # fmt: skip
    return html.Div(
        fields, id={"type": "lab-access", "side": side, "at": at}, className="lab-access", role="group",
        **{"aria-label": _("access {number} of set-up {side}", number=at + 1, side=side)},
    )  # fmt: skip


def look(name: str) -> dict[str, str]:
    """Return the id of a control that chooses what is pictured."""
    return {"type": "lab-look", "name": name}


def _look() -> Component:
    views = [{"value": "index", "label": _("As indexed")}, {"value": "banks", "label": _("Rows of banks")}]
    return html.Section(
        [
            html.H2(_("Pictured"), className="visually-hidden"),
            dmc.Select(id=look("ACCESS"), label=_("Access pictured"), data=[], allowDeselect=False, size="xs", w=190),
            dmc.NumberInput(
                id=look("REQUEST"), label=_("Request"), min=1, allowDecimal=False, size="xs", w=100, debounce=100
            ),
            dmc.SegmentedControl(id=look("VIEW"), data=views, size="xs", **{"aria-label": _("Rows of the tile")}),
            html.P(_("← → go from request to request"), className="note keys"),
            html.Span(
                [
                    dcc.Link(_("Swizzles of tensor copies and wgmma"), href=SWIZZLES),
                    dcc.Link(_("The same access on every GPU"), id="lab-gpus", href=GPUS),
                ],
                className="lab-gpus",
            ),
        ],
        className="panel lab-look",
        **{"aria-label": _("What is pictured")},
    )


def _results(side: str) -> Component:
    tile = _("Tile of set-up {side}", side=side)
    banks = _("Banks by wavefront of set-up {side}", side=side)
    lanes = _("Lanes of set-up {side}", side=side)
    parts: tuple[tuple[Kind, str, str], ...] = (("tile", _("Tile"), tile), ("banks", _("Banks by wavefront"), banks))
    pictures = [
        html.Section(
            [
                html.Div([html.H3(title), download(name)], className="panel-head"),
                scroller(Drawn(f"lab-{side}-{part}", part, _HIGHEST), label=name),
            ]
        )
        for part, title, name in parts
    ]
    return section(
        f"lab-{side}-costs",
        _("What {side} costs", side=side),
        html.P("", id=f"lab-{side}-sentence", className="lab-sentence"),
        html.Div(pictures, id=f"lab-{side}-pictures", className="lab-pictures", hidden=True),
        html.P(_(_TILE_NOTE), className="note"),
        scroller(id=f"lab-{side}-counts", label=_("Counts of set-up {side}", side=side)),
        html.P("", id=f"lab-{side}-array", className="note"),
        html.Details(
            [html.Summary(_("Lane by lane")), scroller(id=f"lab-{side}-lanes", label=lanes, extra="lab-lanes")],
            className="details",
        ),
        id=f"lab-{side}-results",
        kind="lab-side",
    )


def _search() -> Component:
    note = _(
        "All pads, XORs and Swizzle<B, M, S> that keep every access aligned, sorted by wavefronts, bytes "
        "and extra instructions for the index. Layouts that another of their kind beats in all three are "
        "left out. Blocks are those that shared memory and threads allow; registers may allow fewer."
    )
    return section(
        "lab-search",
        _("Cheapest layouts for all accesses of A"),
        html.P("", id="lab-results-note", className="lab-sentence"),
        scroller(id="lab-results", label=_("Layouts found")),
        html.P(note, className="note"),
    )
