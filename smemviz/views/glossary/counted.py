"""Numbers that follow from what was recorded: requests, wavefronts, sectors, layouts."""

from __future__ import annotations

from dataclasses import replace

from smemviz.i18n import N_, _
from smemviz.model.hardware.compute_capability import BasisKind
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.hardware.operations import weakest_basis
from smemviz.recordings.data import SECTOR_BYTES, WARP_SIZE, Launch, Space
from smemviz.views.columns import COLUMNS, COUNTS, Column
from smemviz.views.glossary.entry import Number, Section

_RULES: dict[BasisKind, str] = {
    "measured": N_("The rule for compute capability {name} applied to the addresses; it was measured."),
    "documented": N_("The rule for compute capability {name} applied to the addresses; it is documented."),
    "assumed": N_("The rule for compute capability {name} applied to the addresses; part of it is assumed."),
}


def explained(column: Column, launch: Launch, hardware: Hardware, rule: str = "") -> Number:
    """Explain a column, with a launch's number as an example; ``rule`` is said of those without a source."""
    sizes = {"lanes": WARP_SIZE, "bytes": SECTOR_BYTES, "wavefront": hardware.bytes_per_wavefront}
    return Number(
        column.anchor,
        tuple(map(_, column.names)),
        _(column.meaning, **sizes),
        _(column.source) if column.source else rule,
        column.text(column.of_launch(launch, hardware), nothing=""),
    )


def _of_columns(space: Space, launch: Launch, hardware: Hardware, rule: str) -> tuple[Number, ...]:
    """Explain the columns of a kind of memory; those of both but the first are explained with global memory."""
    chosen = (column for column in COLUMNS[1:] if column.anchor and column.spaces[-1] == space)
    return tuple(explained(column, launch, hardware, rule) for column in chosen)


def request_numbers(launch: Launch, hardware: Hardware) -> Section:
    """Explain what is recorded, with a launch's numbers as examples."""
    source = _("Recorded: the gpu engine logs what the running kernel uses, lockstep what the same source computes.")
    return Section(
        _("What is recorded"),
        (
            replace(explained(COUNTS[0], launch, hardware), example=f"{len(launch.requests):,}"),
            Number(
                "places",
                (_("block"), _("warp"), _("lane"), _("step")),
                _(
                    "Who asks, counted from 0. Steps count the requests of one warp in the order in which it makes "
                    "them; how the steps of different warps follow each other is not recorded, only which barriers "
                    "lie between them."
                ),
                source,
            ),
            Number(
                "missing",
                (_("missing requests"),),
                _(
                    "Requests that were counted but not logged one by one, because the launch makes too many. Totals "
                    "include them; pictures and playback show the blocks that were logged."
                ),
                source,
                f"{launch.missing:,}",
            ),
        ),
    )


def shared_numbers(launch: Launch, hardware: Hardware) -> Section:
    """Explain what is counted of shared memory, with a launch's numbers as examples."""
    rule = _(_RULES[weakest_basis([launch], hardware.cc)], name=hardware.name)
    return Section(
        _("Shared memory"),
        (
            Number(
                "bank",
                (_("bank"),),
                _(
                    "Which of the {banks} columns of shared memory an address lies in: its byte address divided by "
                    "{bytes}, rounded down, modulo {banks}.",
                    banks=hardware.banks,
                    bytes=hardware.bank_bytes,
                ),
                rule,
            ),
            Number(
                "shared-bytes",
                (_("shared bytes"),),
                _("Bytes of shared memory a block takes, static and dynamic, pads and gaps between arrays included."),
                _("Recorded: the lengths and places of the arrays as the launch had them."),
                f"{launch.shared_bytes:,}",
            ),
            *_of_columns("shared", launch, hardware, rule),
            Number(
                "data",
                (_("depends on the data"), _("not known")),
                _(
                    "Atomic updates of floating-point numbers and of 64 bits repeat until they succeed, so their "
                    "wavefronts do not follow from the addresses. No number is shown, and totals leave these "
                    "requests out."
                ),
                rule,
            ),
        ),
    )


def global_numbers(launch: Launch, hardware: Hardware) -> Section:
    """Explain what is counted of global memory, with a launch's numbers as examples."""
    rule = _("Counted from the addresses; measured on an H200 for accesses of 4, 8 and 16 bytes.")
    return Section(_("Global memory"), _of_columns("global", launch, hardware, rule))


def layout_numbers() -> Section:
    """Explain what is computed of layouts."""
    return Section(
        _("Layouts"),
        (
            Number(
                "layout-bytes",
                (_("bytes"),),
                _("Bytes of shared memory that an array takes in a layout, what pads and pitches add included."),
                _("Computed from the layout."),
            ),
            Number(
                "blocks",
                (_("blocks a multiprocessor"),),
                _(
                    "How many blocks fit into a multiprocessor by their shared memory alone, which limits occupancy; "
                    "registers and threads may allow fewer."
                ),
                _("Shared memory of the GPU, from NVIDIA's documentation, less what is reserved for each block."),
            ),
            Number(
                "instructions",
                (_("more instructions"),),
                _("Integer instructions that a swizzled index takes more than the plain one, at each access."),
                _("Counted in the index's formula; a compiler may fold some of them."),
            ),
            Number(
                "pad",
                (_("smallest pad"), _("swizzle")),
                _(
                    "Other layouts for which the recorded requests were counted again; shown are those that leave no "
                    "excess, or the least, over all accesses to the array."
                ),
                _("Computed from the recorded requests; smemviz suggest also runs the changed kernel and compares."),
            ),
        ),
    )
