"""A number that is explained: what it is, how it comes about, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from smemviz.i18n import N_, _
from smemviz.model.hardware.compute_capability import BasisKind
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.operations import weakest_basis
from smemviz.recordings.data import SECTOR_BYTES, WARP_SIZE, Launch, Space
from smemviz.views.columns import COLUMNS, COUNTS, Column

_RULES: dict[BasisKind, str] = {
    "measured": N_("The rule for compute capability {name} applied to the addresses; it was measured."),
    "documented": N_("The rule for compute capability {name} applied to the addresses; it is documented."),
    "assumed": N_("The rule for compute capability {name} applied to the addresses; part of it is assumed."),
}


@dataclass(frozen=True)
class Number:
    """A number by the names it goes by: what it says, and where it comes from.

    ``anchor`` is its place on the page; ``example`` is its value in the launch that examples are taken from.
    """

    anchor: str
    names: tuple[str, ...]
    meaning: str
    source: str
    example: str = ""


@dataclass(frozen=True)
class Section:
    """Numbers that belong together."""

    title: str
    numbers: tuple[Number, ...]


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


def time_numbers(launch: Launch) -> Section:
    """Explain times, with a launch's as examples."""
    measured = _("Measured on the card named beside it; never computed.")
    time = launch.time
    return Section(
        _("Time"),
        (
            Number(
                "median",
                (_("median"), _("time")),
                _(
                    "Time of one launch of the unchanged kernel: a CUDA graph of many launches is replayed and its "
                    "time divided by their number, at many addresses in turn, since where arrays lie changes the "
                    "time."
                ),
                measured,
                f"{time.median_us:.4g} µs" if time else "",
            ),
            Number(
                "interval",
                (_("95 % interval"), _("5th to 95th percentile"), _("samples")),
                _("A 95 % confidence interval of the median; nine of ten samples lie between the percentiles."),
                _("From the order of the samples; no distribution is assumed."),
            ),
            Number(
                "floor",
                (_("floor"), _("net")),
                _("The floor is the time of an empty kernel of the same size; net is the median less the floor."),
                measured,
                f"{time.floor_us:.4g} µs" if time else "",
            ),
            Number(
                "matter",
                (_("Does it matter?"),),
                _(
                    "The cycles that excess wavefronts take, one each, spread over the multiprocessors at work, as a "
                    "share of net time; beside it what the clock shows between a kernel and one without the conflict."
                ),
                _("Computed from measured numbers. It assumes that blocks spread evenly, and says so."),
            ),
        ),
    )


def hardware_numbers() -> Section:
    """Explain what the hardware counted."""
    return Section(
        _("Hardware"),
        (
            Number(
                "hardware",
                (_("hardware"), _("verdict")),
                _(
                    "What Nsight Compute counted for the instructions of an access. Equal numbers agree; others are "
                    "explained where the compiler merged accesses, kept values in registers or removed accesses, and "
                    "the numbers then add up."
                ),
                _("Read from the counters of the card named beside it, while the unchanged kernel ran."),
            ),
            Number(
                "basis",
                (_("measured"), _("documented"), _("assumed")),
                _(
                    "What a rule rests on. Rules for the H200 were measured, one warp and one access per launch. "
                    "For other GPUs NVIDIA documents banks and accesses of up to 4 bytes; accesses of 8 and 16 bytes, "
                    "matrices and atomics are assumed to go as on the H200, until smemviz calibrate measures a card."
                ),
                _(
                    "1,660 measurements on an H200, each of which the tests demand exactly, and the CUDA programming "
                    "guide."
                ),
            ),
        ),
    )


def product_numbers() -> Section:
    """Explain the numbers of matrix products."""
    measured = _("Both measured in one run.")
    return Section(
        _("Matrix products"),
        (
            Number(
                "operations",
                ("GFLOP/s",),
                _("2 M N K operations, a multiplication and an addition each, divided by the kernel's measured time."),
                _("Measured time; the number of operations follows from the size."),
            ),
            Number(
                "formula",
                (_("elements loaded, formula"), _("elements counted")),
                _(
                    "2 S³ elements when every thread loads for itself, 2 S³ / T with tiles of T x T; beside it what "
                    "was counted."
                ),
                _("Formula against count."),
            ),
            Number(
                "intensity",
                (_("operations per byte"), _("arithmetic intensity")),
                _("Operations divided by the bytes of the sectors moved, as counted; caches may serve some of them."),
                _("Computed from counts."),
            ),
            Number(
                "ceilings",
                (_("ceiling"), _("nearest ceiling"), _("roofline")),
                _("What the card can do at most: bytes per second of each memory and float32 operations per second."),
                _(
                    "Measured by kernels that do nothing else, on the card named beside it; not taken from a data "
                    "sheet."
                ),
            ),
            Number(
                "yardsticks",
                (_("of cuBLAS"), _("against best")),
                _("A kernel's rate as a share of cuBLAS's on the same card, and its time as a multiple of the best."),
                measured,
            ),
            Number(
                "error",
                (_("largest error"),),
                _("The largest difference of an element from the same product computed in float64."),
                _("Compared after every measurement."),
            ),
        ),
    )


def quoted_numbers() -> Section:
    """Explain published numbers, and changes."""
    return Section(
        _("Published numbers"),
        (
            Number(
                "published",
                (_("published"),),
                _(
                    "Figures that others published, with their hardware, beside ours; a difference is explained where "
                    "it is known."
                ),
                _("Quoted from the publication that is named there."),
            ),
            Number(
                "change",
                (_("changes"), _("tolerance")),
                _(
                    "Wavefronts, sectors and time of a launch in two recordings, access by access. More than the "
                    "tolerance is worse; times count only where their 95 % intervals lie apart."
                ),
                _("Computed from both recordings."),
            ),
        ),
    )


def numbers(launch: Launch, hardware: Hardware = H200) -> tuple[Section, ...]:
    """Explain every number, with those of a launch as examples."""
    return (
        request_numbers(launch, hardware),
        shared_numbers(launch, hardware),
        global_numbers(launch, hardware),
        time_numbers(launch),
        hardware_numbers(),
        layout_numbers(),
        product_numbers(),
        quoted_numbers(),
    )
