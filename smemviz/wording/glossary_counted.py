"""Numbers that follow from what was recorded: requests, wavefronts, sectors, layouts."""

from __future__ import annotations

from smemviz.i18n import N_, _
from smemviz.model.counting.global_traffic import traffic_of
from smemviz.model.hardware.compute_capability import BasisKind
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.hardware.operations import weakest_basis
from smemviz.recordings.data import SECTOR_BYTES, WARP_SIZE, Launch
from smemviz.wording.glossary_entry import Number, Section
from smemviz.wording.labels import percent
from smemviz.wording.sentences import facts

_RULES: dict[BasisKind, str] = {
    "measured": N_("The rule for compute capability {name} applied to the addresses; it was measured."),
    "documented": N_("The rule for compute capability {name} applied to the addresses; it is documented."),
    "assumed": N_("The rule for compute capability {name} applied to the addresses; part of it is assumed."),
}


def request_numbers(launch: Launch) -> Section:
    """Explain what is recorded, with a launch's numbers as examples."""
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
    total = facts(launch, hardware)
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
                    "Passes through shared memory. In one pass each bank delivers at most one word; a request needs as "
                    "many passes as its busiest bank has different words to deliver, added up over the groups of "
                    "lanes that are served together. A word that several lanes read is delivered once, as a "
                    "broadcast. Older profilers call the passes transactions."
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
                _(
                    "The largest number of different words that one bank must deliver to lanes served together; 1-way "
                    "is no conflict."
                ),
                rule,
                f"{total.max_degree}",
            ),
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


def global_numbers(launch: Launch) -> Section:
    """Explain what is counted of global memory, with a launch's numbers as examples."""
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
                    "Aligned pieces of {bytes} bytes of global memory that a request touches, each counted once a "
                    "request; nvprof calls them transactions. Caches are not modelled: a sector counts whether it "
                    "comes from L1, L2 or memory.",
                    bytes=SECTOR_BYTES,
                ),
                rule,
                f"{moved:,}",
            ),
            Number(
                "sectors-per-request",
                (_("sectors per request"),),
                _(
                    "Sectors divided by requests. A warp that reads 4 bytes a lane side by side is coalesced and needs "
                    "4; spread out it needs 32."
                ),
                rule,
                f"{moved / asked:.4g}" if asked else "",
            ),
            Number(
                "efficiency",
                (_("efficiency"),),
                _("Bytes that lanes use, each counted once a request, divided by the bytes of the sectors moved."),
                _("Over all requests if all were logged, else over the logged ones; the page says which."),
                percent(efficiency) if efficiency is not None else "",
            ),
        ),
    )


def layout_numbers(hardware: Hardware) -> Section:
    """Explain what is computed of layouts."""
    return Section(
        _("Layouts"),
        (
            Number(
                "wasted",
                (_("bytes wasted"),),
                _(
                    "Shared-memory bandwidth left unused: {bytes} bytes per wavefront less the bytes that lanes "
                    "asked for.",
                    bytes=hardware.bytes_per_wavefront,
                ),
                _("Computed from the access and the layout."),
            ),
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
