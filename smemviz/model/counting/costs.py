"""What requests cost, in wavefronts or sectors by the one table of spaces, and in a line; keeping what was counted."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from smemviz.model.counting.service import Service, bytes_used, fewest_sectors, sector_rule, serve
from smemviz.model.hardware.hardware import H200, Hardware, Rule, shared_rule
from smemviz.model.hardware.operations import unpredictable
from smemviz.recordings.data import Launch, Site

_P = ParamSpec("_P")
_R = TypeVar("_R")


def cached(count: Callable[Concatenate[Launch, _P], _R]) -> Callable[Concatenate[Launch, _P], _R]:
    """Keep the results of a pure function of a launch and of arguments that can be hashed."""
    results: WeakKeyDictionary[Launch, dict[Hashable, _R]] = WeakKeyDictionary()

    @wraps(count)
    def counted(launch: Launch, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        known = results.setdefault(launch, {})
        key = (args, tuple(kwargs.items()))
        if key not in known:
            known[key] = count(launch, *args, **kwargs)
        return known[key]

    return counted


COUNTS = ("wavefronts", "ideal", "sectors")  # of both spaces; each has its own


class _Space(NamedTuple):
    """How the requests of one space are counted.

    A request of some width and operation is served by ``rule``, which gives ``counts``, in this order. ``unknown`` says
    in English why the addresses of a site do not tell them, None where they do; ``least`` how many of the first would
    do for served requests; ``everywhere`` whether every GPU serves them alike.
    """

    unit: str
    counts: tuple[str, ...]
    rule: Callable[[int, str, Hardware], Rule]
    unknown: Callable[[Site, tuple[int, int]], str | None]
    least: Callable[[Service, NDArray[np.int64], int], NDArray[np.int64]]
    everywhere: bool


SPACES: Mapping[str, _Space] = {
    "shared": _Space(
        unit="wavefront",
        counts=("wavefronts", "ideal", "degree"),
        rule=shared_rule,
        unknown=lambda site, cc: unpredictable(site.op, site.dtype, cc),
        least=lambda service, addresses, width: service.ideal,
        everywhere=False,
    ),
    "global": _Space(
        unit="sector",
        counts=("sectors",),
        rule=lambda width, op, hardware: sector_rule(width),
        unknown=lambda site, cc: None,
        least=lambda service, addresses, width: fewest_sectors(bytes_used(addresses, width)),
        everywhere=True,
    ),
}


class RequestCosts(NamedTuple):
    """Costs of requests, each (n,) int64, -1 where it does not apply or cannot be told from the addresses."""

    wavefronts: NDArray[np.int64]
    ideal: NDArray[np.int64]
    excess: NDArray[np.int64]
    degree: NDArray[np.int64]
    sectors: NDArray[np.int64]


def unit_of(space: str) -> str:
    """Return what is counted in a space, in the singular; wavefronts where an instruction reaches both."""
    return SPACES.get(space, SPACES["shared"]).unit


def own_counts(space: str, count: Callable[[str], int]) -> dict[str, int | None]:
    """Return ``COUNTS`` by name: ``count`` of each that a space has, None for the others."""
    return {name: count(name) if name in SPACES[space].counts else None for name in COUNTS}


def rule_at(site: Site, hardware: Hardware = H200) -> Rule | None:
    """Return the rule that serves the requests of a site, None where addresses do not tell what they cost.

    Raises:
        InputError: for an unknown compute capability or bank mode.
    """
    space = SPACES[site.space]
    return space.rule(site.width, site.op, hardware) if space.unknown(site, hardware.cc) is None else None


def excess_at(site: Site, addresses: NDArray[np.int64], hardware: Hardware = H200) -> NDArray[np.int64]:
    """Return what requests of a site cost beyond what would do, -1 where it cannot be told from the addresses."""
    if rule_at(site, hardware) is None:
        return np.full(len(addresses), -1, np.int64)
    cost, least = cost_and_least(site, addresses, hardware)
    return cost - least


def cost_and_least(
    site: Site, addresses: NDArray[np.int64], hardware: Hardware = H200
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what requests of a site cost, in the unit of its space, and how little would do."""
    space = SPACES[site.space]
    service = serve(addresses, space.rule(site.width, site.op, hardware))
    return service.wavefronts, space.least(service, addresses, site.width)


def request_costs(launch: Launch, rows: NDArray[np.intp], hardware: Hardware = H200) -> RequestCosts:
    """Count logged requests, picked by their rows, as hardware serves them.

    Raises:
        InputError: for an unknown compute capability or bank mode.
    """
    costs = RequestCosts(*(np.full(len(rows), -1, np.int64) for _ in RequestCosts._fields))
    site_of = launch.requests.site[rows]
    for i in np.unique(site_of).tolist():
        site, at = launch.sites[i], site_of == i
        rule = rule_at(site, hardware)
        if rule is not None:
            service = serve(launch.requests.addresses[rows[at]], rule)
            for name, count in zip(SPACES[site.space].counts, service, strict=False):
                getattr(costs, name)[at] = count
    return costs._replace(excess=np.where(costs.wavefronts < 0, -1, costs.wavefronts - costs.ideal))


@dataclass(frozen=True)
class Line:
    """Requests in the order they are played, each (n,): ``start`` and ``length`` in places.

    A wavefront takes a place, and so does a request whose wavefronts are not known: one to global memory, or one
    whose cost depends on the data. Those have -1 ``wavefronts`` and ``ideal``; ``sectors`` is -1 for shared memory.
    """

    rows: NDArray[np.intp]
    start: NDArray[np.int64]
    wavefronts: NDArray[np.int64]
    ideal: NDArray[np.int64]
    sectors: NDArray[np.int64]

    @property
    def length(self) -> NDArray[np.int64]:
        """The places each request takes, at least one."""
        return np.maximum(self.wavefronts, 1)


def line_up(launch: Launch, rows: NDArray[np.intp], hardware: Hardware = H200) -> Line:
    """Lay requests one after the other, in the order of ``rows``."""
    costs = request_costs(launch, rows, hardware)
    length = np.maximum(costs.wavefronts, 1)
    return Line(rows, np.cumsum(length) - length, costs.wavefronts, costs.ideal, costs.sectors)
