"""Numbers that were measured on a card, or that rest on measurements: times, counters, rates."""

from __future__ import annotations

from smemviz.i18n import _
from smemviz.recordings.data import Launch
from smemviz.views.glossary.entry import Number, Section


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
