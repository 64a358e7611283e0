"""A number that is explained: what it is, how it comes about, and what it rests on."""

from dataclasses import dataclass, replace

from smemviz.i18n import N_, _
from smemviz.model.hardware.compute_capability import BasisKind
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.operations import weakest_basis
from smemviz.recordings.data import SECTOR_BYTES, WARP_SIZE, Launch, Space
from smemviz.views.columns import COLUMNS, COUNTS, Column
from smemviz.wording.labels import clauses, space_name

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
        _example(column, launch, hardware),
    )


def _example(column: Column, launch: Launch, hardware: Hardware) -> str:
    if len(column.spaces) == 1:
        return column.text(column.of_launch(launch, hardware), nothing="")
    of_sites = {
        space: [column.of_site(launch, site, hardware) or 0 for site in launch.sites_in(space)]
        for space in column.spaces
    }
    return clauses(*(f"{sum(values):,} {space_name(space)}" for space, values in of_sites.items()))


def _of_columns(space: Space, launch: Launch, hardware: Hardware, rule: str) -> tuple[Number, ...]:
    """Explain the columns of a kind of memory; those of both but the first are explained with global memory."""
    chosen = (column for column in COLUMNS[1:] if column.anchor and column.spaces[-1] == space)
    return tuple(explained(column, launch, hardware, rule) for column in chosen)


def _request_numbers(launch: Launch, hardware: Hardware) -> Section:
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


def _shared_numbers(launch: Launch, hardware: Hardware) -> Section:
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
                (_("not counted"), _("not known")),
                _(
                    "Wavefronts that do not follow from the addresses: atomic updates of floating-point numbers and "
                    "of 64 bits repeat until they succeed, and no counter has wavefronts of the copy engine, of "
                    "mbarriers and of the shared memory of other blocks. No number is shown, and totals leave these "
                    "requests out."
                ),
                rule,
            ),
        ),
    )


def _time_numbers(launch: Launch) -> Section:
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


# Sections without a number of a launch.
_OTHERS = (
    Section(
        N_("Hardware"),
        (
            Number(
                "hardware",
                (N_("hardware"), N_("verdict")),
                N_(
                    "What Nsight Compute counted for the instructions of an access. Equal numbers agree; others are "
                    "explained where the compiler merged accesses, kept values in registers or removed accesses, and "
                    "the numbers then add up."
                ),
                N_("Read from the counters of the card named beside it, while the unchanged kernel ran."),
            ),
            Number(
                "basis",
                (N_("measured"), N_("documented"), N_("assumed")),
                N_(
                    "What a rule rests on. Rules for the H200 were measured, one warp and one access per launch. "
                    "For other GPUs NVIDIA documents banks and accesses of up to 4 bytes; accesses of 8 and 16 bytes, "
                    "matrices and atomics are assumed to go as on the H200, until smemviz calibrate measures a card."
                ),
                N_(
                    "1,660 measurements on an H200, each of which the tests demand exactly, and the CUDA programming "
                    "guide."
                ),
            ),
        ),
    ),
    Section(
        N_("Layouts"),
        (
            Number(
                "layout-bytes",
                (N_("bytes"),),
                N_("Bytes of shared memory that an array takes in a layout, what pads and pitches add included."),
                N_("Computed from the layout."),
            ),
            Number(
                "blocks",
                (N_("blocks per multiprocessor"),),
                N_(
                    "How many blocks fit into a multiprocessor by their shared memory alone, which limits occupancy; "
                    "registers and threads may allow fewer."
                ),
                N_("Shared memory of the GPU, from NVIDIA's documentation, less what is reserved for each block."),
            ),
            Number(
                "instructions",
                (N_("more instructions"),),
                N_("Additional integer instructions that a swizzled index takes, at each access."),
                N_("Counted in the index's formula; a compiler may fold some of them."),
            ),
            Number(
                "pad",
                (N_("smallest pad"), N_("swizzle")),
                N_(
                    "Other layouts for which the recorded requests were counted again; shown are those that leave no "
                    "excess, or the least, over all accesses to the array."
                ),
                N_("Computed from the recorded requests; smemviz suggest also runs the changed kernel and compares."),
            ),
        ),
    ),
    Section(
        N_("Matrix products"),
        (
            Number(
                "operations",
                (N_("GFLOP/s"),),
                N_("2 M N K operations, a multiplication and an addition each, divided by the kernel's measured time."),
                N_("Measured time; the number of operations follows from the size."),
            ),
            Number(
                "formula",
                (N_("elements loaded, formula"), N_("elements counted")),
                N_(
                    "2 S³ elements when every thread loads for itself, 2 S³ / T with tiles of T x T; beside it what "
                    "was counted."
                ),
                N_("Formula against count."),
            ),
            Number(
                "intensity",
                (N_("operations per byte"), N_("arithmetic intensity")),
                N_("Operations divided by the bytes of the sectors moved, as counted; caches may serve some of them."),
                N_("Computed from counts."),
            ),
            Number(
                "ceilings",
                (N_("ceiling"), N_("nearest ceiling"), N_("roofline")),
                N_("What the card can do at most: bytes per second of each memory and float32 operations per second."),
                N_(
                    "Measured by kernels that do nothing else, on the card named beside it; not taken from a data "
                    "sheet."
                ),
            ),
            Number(
                "yardsticks",
                (N_("of cuBLAS"), N_("against best")),
                N_("A kernel's rate as a share of cuBLAS's on the same card, and its time as a multiple of the best."),
                N_("Both measured in one run."),
            ),
            Number(
                "error",
                (N_("largest error"),),
                N_("The largest difference of an element from the same product computed in float64."),
                N_("Compared after every measurement."),
            ),
        ),
    ),
    Section(
        N_("Published numbers"),
        (
            Number(
                "published",
                (N_("published"),),
                N_(
                    "Figures that others published, with their hardware, beside ours; a difference is explained where "
                    "it is known."
                ),
                N_("Quoted from the publication that is named there."),
            ),
            Number(
                "change",
                (N_("changes"), N_("tolerance")),
                N_(
                    "Wavefronts, sectors and time of a launch in two recordings, access by access. More than the "
                    "tolerance is worse; times count only where their 95 % intervals lie apart."
                ),
                N_("Computed from both recordings."),
            ),
        ),
    ),
)


def numbers(launch: Launch, hardware: Hardware = H200) -> tuple[Section, ...]:
    """Explain every number, with those of a launch as examples."""
    coalesced = _("Counted from the addresses; measured on an H200 for accesses of 4, 8 and 16 bytes.")
    return (
        _request_numbers(launch, hardware),
        _shared_numbers(launch, hardware),
        Section(_("Global memory"), _of_columns("global", launch, hardware, coalesced)),
        _time_numbers(launch),
        *(Section(_(section.title), tuple(map(_translated, section.numbers))) for section in _OTHERS),
    )


def _translated(number: Number) -> Number:
    return Number(number.anchor, tuple(map(_, number.names)), _(number.meaning), _(number.source))
