"""The counts of an access and of a launch: what each is called, what it means, and what it is.

The terminal, JSON, the report, CSV and Parquet, the notebook, the kernel page and the page that explains the numbers
all take their columns from here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from smemviz.i18n import N_, _
from smemviz.model.counting.global_traffic import Traffic, add_traffic, traffic_of
from smemviz.model.counting.summary import bytes_wasted, summarize
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import Launch, SiteSummary, Space
from smemviz.wording.labels import efficiency_text
from smemviz.wording.sentences import degree_of, facts

Unit = Literal["count", "bytes", "ratio", "share"]
# The terminal's table, the report's tables of accesses and launches, the notebook's table of launches, and what the
# kernel page says of a launch and of an access to global memory.
Place = Literal["terminal", "accesses", "launches", "notebook", "page", "access"]
Value = int | float | None

_WRITTEN: Mapping[Unit, Callable[[float], str]] = {
    "count": "{:,}".format,
    "bytes": "{:,}".format,
    "ratio": "{:.4g}".format,
    "share": efficiency_text,
}


@dataclass(frozen=True)
class Column:
    """A count: ``name`` is what data call it, ``names`` what readers do, and ``heads`` how it is headed where.

    ``spaces`` are the kinds of memory that have it. ``of_site`` counts a site of a launch, by its number, None where
    there is nothing to count; ``of_launch`` adds a launch up, and ``launch_text`` writes what that is where it is not
    just a number. ``meaning`` and ``source`` explain it at ``anchor`` of the page that does; without a ``source`` it
    follows from the addresses by rule.
    """

    name: str
    unit: Unit
    spaces: tuple[Space, ...]
    of_site: Callable[[Launch, int, Hardware], Value]
    of_launch: Callable[[Launch, Hardware], Value]
    anchor: str = ""
    names: tuple[str, ...] = ()
    meaning: str = ""
    source: str = ""
    heads: Mapping[Place, str] = field(default_factory=dict)
    launch_text: Callable[[Launch, Hardware], str] | None = None

    @property
    def real(self) -> bool:
        """Whether its values are no integers."""
        return self.unit in ("ratio", "share")

    def head(self, place: Place) -> str:
        """Return how it is headed there, in the spoken language."""
        return _(self.heads[place])

    def text(self, value: Value, nothing: str = "-") -> str:
        """Write one of its values, and ``nothing`` for None."""
        return nothing if value is None else _WRITTEN[self.unit](value)

    def site_text(self, launch: Launch, site: int, hardware: Hardware, nothing: str = "-") -> str:
        """Write what it is of a site."""
        return self.text(self.of_site(launch, site, hardware), nothing)

    def total_text(self, launch: Launch, hardware: Hardware) -> str:
        """Write what it is of a launch."""
        return self.launch_text(launch, hardware) if self.launch_text else self.text(self.of_launch(launch, hardware))


def columns_in(place: Place) -> tuple[Column, ...]:
    """Return the columns that a place shows, in order."""
    return tuple(column for column in COLUMNS if place in column.heads)


def _headed(head: str, *places: Place) -> dict[Place, str]:
    return dict.fromkeys(places, head)


def _number(count: Callable[..., object], name: str) -> Callable[..., Value]:
    """Return what counts something and reads one of its numbers, None where there is nothing to count."""

    def read(*args: object) -> Value:
        value: Value = getattr(count(*args), name, None)
        return value

    return read


def _row(launch: Launch, site: int, hardware: Hardware) -> SiteSummary:
    return summarize(launch, hardware)[site]


def _site_traffic(launch: Launch, site: int, hardware: Hardware) -> Traffic | None:
    return traffic_of(launch, site)


def _total_traffic(launch: Launch, hardware: Hardware) -> Traffic:
    return global_traffic(launch)


def global_traffic(launch: Launch) -> Traffic:
    """Return what the requests of all sites moved in global memory."""
    traffic = (traffic_of(launch, site) for site in range(len(launch.sites)))
    return add_traffic(traffic for traffic in traffic if traffic is not None)


def _global_bytes_wasted(launch: Launch, hardware: Hardware) -> Value:
    """Add up the sites in global memory, None where one is not known."""
    wasted = [bytes_wasted(launch, site, hardware) for site in launch.sites_in("global")]
    return None if None in wasted else sum(amount or 0 for amount in wasted)


_ALL: tuple[Place, ...] = ("terminal", "accesses", "launches", "notebook", "page")
_OF_SITES: tuple[Place, ...] = ("terminal", "accesses", "access")
_OF_LAUNCHES: tuple[Place, ...] = ("launches", "notebook", "page")

# What the requests of a site are counted to cost, and then, in ``TRAFFIC``, what it made of what it moved.
COUNTS = (
    Column(
        "requests",
        "count",
        ("shared", "global"),
        _number(_row, "requests"),
        _number(facts, "requests"),
        "requests",
        (N_("requests"), N_("shared requests")),
        N_("One warp at one place of the source, once: the addresses that its {lanes} lanes ask for together."),
        N_("Recorded: the gpu engine logs what the running kernel uses, lockstep what the same source computes."),
        heads=_headed(N_("requests"), *_OF_SITES) | _headed(N_("shared requests"), *_OF_LAUNCHES),
    ),
    Column(
        "wavefronts",
        "count",
        ("shared",),
        _number(_row, "wavefronts"),
        _number(facts, "wavefronts"),
        "wavefronts",
        (
            N_("wavefronts"),
            N_("shared wavefronts"),
            N_("store wavefronts"),
            N_("load wavefronts"),
            N_("update wavefronts"),
        ),
        N_(
            "Passes through shared memory. In one pass each bank delivers at most one word; a request needs as "
            "many passes as its busiest bank has different words to deliver, added up over the groups of "
            "lanes that are served together. A word that several lanes read is delivered once, as a "
            "broadcast. Older profilers call the passes transactions."
        ),
        heads=_headed(N_("wavefronts"), *_ALL),
    ),
    Column(
        "ideal",
        "count",
        ("shared",),
        _number(_row, "ideal"),
        _number(facts, "ideal"),
        "ideal",
        (N_("ideal"),),
        N_("The wavefronts of the same requests if no two words shared a bank: one for each group of lanes."),
        heads=_headed(N_("ideal"), *_ALL),
    ),
    Column(
        "excess",
        "count",
        ("shared",),
        _number(_row, "excess"),
        _number(facts, "excess"),
        "excess",
        (N_("excess"), N_("bank conflicts")),
        N_("Wavefronts beyond the ideal. Nsight Compute calls them excessive."),
        N_("The difference of the two numbers above."),
        heads=_headed(N_("excess"), *_ALL),
    ),
    Column(
        "max_degree",
        "count",
        ("shared",),
        _number(_row, "max_degree"),
        _number(facts, "max_degree"),
        "degree",
        (N_("degree"), N_("N-way")),
        N_(
            "The largest number of different words that one bank must deliver to lanes served together; 1-way "
            "is no conflict."
        ),
        heads=_headed("max degree", "terminal") | _headed(N_("degree"), "accesses", "notebook"),
        launch_text=lambda launch, hardware: degree_of(facts(launch, hardware)),
    ),
    Column(
        "sectors",
        "count",
        ("global",),
        _number(_row, "sectors"),
        _number(facts, "sectors"),
        "sectors",
        (N_("sectors"), N_("global sectors"), N_("sectors loaded"), N_("sectors stored")),
        N_(
            "Aligned pieces of {bytes} bytes of global memory that a request touches, each counted once per "
            "request; nvprof calls them transactions. Caches are not modelled: a sector counts whether it "
            "comes from L1, L2 or memory."
        ),
        heads=_headed(N_("sectors"), *_OF_SITES, "notebook") | _headed(N_("global sectors"), "launches", "page"),
    ),
)
TRAFFIC = (
    Column(
        "sectors_per_request",
        "ratio",
        ("global",),
        _number(_site_traffic, "sectors_per_request"),
        _number(_total_traffic, "sectors_per_request"),
        "sectors-per-request",
        (N_("sectors per request"),),
        N_(
            "Sectors divided by requests. A warp that reads 4 bytes per lane side by side is coalesced and needs "
            "4; spread out it needs 32."
        ),
        heads=_headed("sectors/request", "terminal") | _headed(N_("sectors per request"), "access"),
    ),
    Column("bytes_used", "bytes", ("global",), _number(_site_traffic, "used"), _number(_total_traffic, "used")),
    Column(
        "efficiency",
        "share",
        ("global",),
        _number(_site_traffic, "efficiency"),
        _number(_total_traffic, "efficiency"),
        "efficiency",
        (N_("efficiency"),),
        N_("Bytes that lanes use, each counted once per request, divided by the bytes of the sectors moved."),
        N_("Over all requests if all were logged, else over the logged ones; the page says which."),
        heads=_headed(N_("efficiency"), *_OF_SITES),
    ),
    Column(
        "bytes_wasted",
        "bytes",
        ("shared", "global"),
        bytes_wasted,
        _global_bytes_wasted,
        "wasted",
        (N_("bytes wasted"), N_("global bytes wasted")),
        N_(
            "Shared-memory bandwidth left unused: {wavefront} bytes per wavefront less the bytes that lanes asked for. "
            "In global memory it is {bytes} bytes per sector less those bytes, each counted once per request."
        ),
        N_("Computed from the addresses, or from an access and a layout; not known unless all requests were logged."),
        heads=_headed(N_("bytes wasted"), "terminal", "accesses") | _headed(N_("global bytes wasted"), "notebook"),
    ),
)
COLUMNS = (*COUNTS, *TRAFFIC)
