"""Every number that is shown: what it is, how it comes about, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from smemviz.figures.labels import percent
from smemviz.figures.sentences import facts
from smemviz.figures.served import H200, Hardware
from smemviz.language import _
from smemviz.model.devices import device
from smemviz.model.sectors import SECTOR_BYTES
from smemviz.model.traffic import traffic_of
from smemviz.recording import WARP_SIZE, Launch


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


def numbers(launch: Launch, hardware: Hardware = H200) -> tuple[Section, ...]:
    """Explain every number, with those of a launch as examples."""
    return (
        _requests(launch),
        _shared(launch, hardware),
        _global(launch),
        _time(launch),
        _truth(),
        _layouts(hardware),
        _products(),
        _others(),
    )


def _requests(launch: Launch) -> Section:
    source = _("Recorded: the gpu engine logs what the running kernel uses, lockstep what the same source computes.")
    logged = f"{len(launch.requests):,}"
    return Section(
        _("What is recorded"),
        (
            Number(
                "requests",
                (_("requests"), _("shared requests")),
                _(
                    "One warp at one place of the source, once: the addresses that its {lanes} lanes ask for together.",
                    lanes=WARP_SIZE,
                ),
                source,
                logged,
            ),
            Number(
                "places",
                (_("block"), _("warp"), _("lane"), _("step")),
                _(
                    "Who asks, counted from 0. Steps count the requests of one warp in the order in which it makes "
                    "them; how the steps of different warps follow each other is not recorded, only that barriers "
                    "part them."
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


def _shared(launch: Launch, hardware: Hardware) -> Section:
    total = facts(launch, hardware)
    rule = (
        _("The rule for compute capability {name} applied to the addresses; it was measured.", name=hardware.name)
        if device(hardware.cc).basis.kind == "measured"
        else _("The rule for compute capability {name} applied to the addresses; it is documented.", name=hardware.name)
    )
    return Section(
        _("Shared memory"),
        (
            Number(
                "bank",
                (_("bank"),),
                _(
                    "Which of the {banks} columns of shared memory an address lies in: its byte address divided by "
                    "{bytes}, rounded down, modulo {banks}.",
                    banks=device(hardware.cc).banks,
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
            Number(
                "wavefronts",
                (
                    _("wavefronts"),
                    _("shared wavefronts"),
                    _("store wavefronts"),
                    _("load wavefronts"),
                    _("update wavefronts"),
                ),
                _(
                    "Passes through shared memory. Each gives one word of every bank; a request takes as many as its "
                    "busiest bank has different words to give, in each of the groups its lanes are served in."
                ),
                rule,
                f"{total.wavefronts:,}",
            ),
            Number(
                "ideal",
                (_("ideal"),),
                _("The wavefronts of the same requests if no two words shared a bank: one for each group of lanes."),
                rule,
                f"{total.ideal:,}",
            ),
            Number(
                "excess",
                (_("excess"), _("bank conflicts")),
                _("Wavefronts beyond the ideal. Nsight Compute calls them excessive."),
                _("The difference of the two numbers above."),
                f"{total.excess:,}",
            ),
            Number(
                "degree",
                (_("degree"), _("N-way")),
                _("The most different words that one bank has to give to one group of lanes: 1 is no conflict."),
                rule,
                f"{total.max_degree}",
            ),
            Number(
                "data",
                (_("depends on the data"), _("not told")),
                _(
                    "Atomic updates of floating-point numbers and of 64 bits repeat until they succeed, so that "
                    "addresses alone do not tell their wavefronts. No number is shown, and totals leave these "
                    "requests out."
                ),
                rule,
            ),
        ),
    )


def _global(launch: Launch) -> Section:
    rule = _("Counted from the addresses; measured on an H200 for accesses of 4, 8 and 16 bytes.")
    traffic = [found for found in (traffic_of(launch, i) for i in range(len(launch.sites))) if found]
    moved, asked = sum(one.sectors for one in traffic), sum(one.requests for one in traffic)
    efficiency = traffic[0].efficiency if len(traffic) == 1 else None
    return Section(
        _("Global memory"),
        (
            Number(
                "sectors",
                (_("sectors"), _("global sectors"), _("sectors loaded"), _("sectors stored")),
                _(
                    "Pieces of {bytes} bytes that requests move, each counted once a request. Caches are not "
                    "modelled: a sector counts whether it comes from L1, L2 or memory.",
                    bytes=SECTOR_BYTES,
                ),
                rule,
                f"{moved:,}",
            ),
            Number(
                "sectors-per-request",
                (_("sectors per request"),),
                _("Sectors divided by requests. A warp that reads 4 bytes a lane side by side needs 4, spread out 32."),
                rule,
                f"{moved / asked:.4g}" if asked else "",
            ),
            Number(
                "efficiency",
                (_("efficiency"),),
                _("Bytes that lanes use, each counted once a request, divided by the bytes of the sectors moved."),
                _("Of all requests where all were logged, else of those that were, and then that is said."),
                percent(efficiency) if efficiency is not None else "",
            ),
        ),
    )


def _time(launch: Launch) -> Section:
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
                _(
                    "The interval holds the true median with 95 % certainty; between the percentiles lie nine of ten "
                    "samples."
                ),
                _("From the order of the samples; no distribution is assumed."),
            ),
            Number(
                "floor",
                (_("floor"), _("net")),
                _("The floor is the time of an empty kernel of the same size; net is the median without it."),
                measured,
                f"{time.floor_us:.4g} µs" if time else "",
            ),
            Number(
                "matter",
                (_("Does it matter?"),),
                _(
                    "The cycles that excess wavefronts take, one each, spread over the multiprocessors at work, as a "
                    "share of net time; beside it what the clock shows between a kernel and its cure."
                ),
                _("Computed from measured numbers. It assumes that blocks spread evenly, and says so."),
            ),
        ),
    )


def _truth() -> Section:
    return Section(
        _("Hardware"),
        (
            Number(
                "hardware",
                (_("hardware"), _("verdict")),
                _(
                    "What Nsight Compute counted for the instructions of an access. Equal numbers agree; others are "
                    "explained where the compiler merged, kept or removed accesses and the arithmetic comes out."
                ),
                _("Read from the counters of the card named beside it, while the unchanged kernel ran."),
            ),
            Number(
                "basis",
                (_("measured"), _("documented")),
                _(
                    "What a rule rests on. Rules for the H200 were measured, one warp and one access per launch; "
                    "those for other parts are NVIDIA's documentation, until smemviz calibrate measures a card."
                ),
                _(
                    "1,660 measurements on an H200, each of which the tests demand exactly, and the CUDA programming "
                    "guide."
                ),
            ),
        ),
    )


def _layouts(hardware: Hardware) -> Section:
    return Section(
        _("Layouts"),
        (
            Number(
                "wasted",
                (_("bytes wasted"), _("bytes")),
                _("Bytes of a layout that hold no element: what pads and pitches add to the array."),
                _("Computed from the layout."),
            ),
            Number(
                "blocks",
                (_("blocks a multiprocessor"),),
                _(
                    "How many blocks fit into a multiprocessor by their shared memory alone; registers and threads "
                    "may allow fewer."
                ),
                _("Shared memory of the part, from NVIDIA's documentation, less what is reserved for each block."),
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
                    "Other layouts in which the recorded requests were counted anew; shown are those that leave no "
                    "excess, or the least, over all accesses to the array."
                ),
                _("Computed from the recorded requests; smemviz suggest also runs the changed kernel and compares."),
            ),
        ),
    )


def _products() -> Section:
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
                _(
                    "Operations divided by the bytes of the sectors moved, as counted; caches may spare memory some "
                    "of them."
                ),
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


def _others() -> Section:
    return Section(
        _("Numbers of others"),
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
