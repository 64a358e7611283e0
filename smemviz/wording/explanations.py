"""Why each site of a launch costs what it costs, and what would mend it: from the recorded requests, in words."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smemviz.i18n import _, ngettext, spoken
from smemviz.languages import PYTHON, Spelling
from smemviz.model.counting.costs import excess_at
from smemviz.model.counting.pattern import Pattern, different, find_patterns, index_steps, mostly_irregular
from smemviz.model.counting.service import bytes_used, sectors
from smemviz.model.counting.service import count as count_wavefronts
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.operations import operation, unpredictable
from smemviz.model.layout.array_requests import ArrayRequests, recorded, relative_addresses
from smemviz.model.layout.candidates import Pad, Swizzle, pads, swizzles
from smemviz.model.layout.search import LayoutFix, smallest_fix
from smemviz.model.playback import BankService, bank_layout, bank_service, request_view
from smemviz.recordings.data import Launch, Site
from smemviz.wording.labels import capital, clause, clauses, count, items, sentences
from smemviz.wording.layout_changes import fix_text
from smemviz.wording.patterns import described, name, reason

_MOST_NAMED = 3
_MODE = "CU_TENSOR_MAP_SWIZZLE_128B"


@dataclass(frozen=True)
class Explained:
    """One site: its patterns, costliest first, each with how many requests have it, and three things to say.

    ``pattern`` names it, ``because`` is one sentence, ``fix`` what to change, None where nothing need be changed.
    ``pad`` and ``swizzle`` are the two forms of the fix where there are such.
    """

    patterns: tuple[tuple[Pattern, int], ...]
    pattern: str
    because: str
    fix: str | None = None
    pad: LayoutFix[Pad] | None = None
    swizzle: LayoutFix[Swizzle] | None = None


def explain(
    launch: Launch,
    hardware: Hardware = H200,
    loaded: frozenset[int] = frozenset(),
    spelling: Spelling = PYTHON.spelling,
) -> tuple[Explained, ...]:
    """Explain every site of a launch, in order, as a compute capability serves it.

    ``loaded`` numbers the sites whose index is loaded data, as ``frontends.numba.sites.loaded_sites`` tells them;
    ``spelling`` is how the kernel's language writes.
    """
    explaining = Explaining(launch, hardware, loaded, spelling)
    return tuple(explaining.site(i) for i in range(len(launch.sites)))


@dataclass(eq=False)
class Explaining:
    """A launch with what explanations share: offsets into arrays, the fixes of each array, and what is explained."""

    launch: Launch
    hardware: Hardware = H200
    loaded: frozenset[int] = frozenset()
    spelling: Spelling = PYTHON.spelling

    def __post_init__(self) -> None:
        self._sites: dict[tuple[str, int], Explained] = {}  # by the language they are explained in
        self._fixes: dict[int, tuple[LayoutFix[Pad] | None, LayoutFix[Swizzle] | None]] = {}

    @cached_property
    def _relative(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        return relative_addresses(self.launch)

    def site(self, i: int) -> Explained:
        """Explain one site by its costliest request."""
        key = spoken(), i
        if key not in self._sites:
            self._sites[key] = self._explain(i)
        return self._sites[key]

    def _explain(self, i: int) -> Explained:
        site = self.launch.sites[i]
        rows = np.flatnonzero(self.launch.requests.site == i)
        if not len(rows):
            return Explained((), _("unknown"), _("None of its requests was logged."))
        first, like = different(self.launch.requests.addresses[rows])[:2]
        patterns_found, numbers = find_patterns(self._offsets(rows[first]))
        known = [self._known(i, pattern) for pattern in patterns_found]
        which, cost = numbers[like], self.cost(site, rows[first])[like]
        times = np.bincount(which)
        # By the costliest request of each; where none costs, one lane tells least.
        most = [int(cost[which == p].max()) for p in range(len(known))]
        order = sorted(range(len(known)), key=lambda p: (-most[p], known[p].kind == "one lane", -times[p]))
        patterns = tuple((known[p], int(times[p])) for p in order)
        here = which == order[0]
        row = int(rows[here][np.argmax(cost[here])])
        because = self.because(row, None if len(patterns) == 1 else (int(times[order[0]]), len(rows)))
        fix, pad, swizzle = (None, None, None)
        if site.is_shared and cost.max() > 0:
            fix, pad, swizzle = self._fix(site, row, patterns[0][0])
        return Explained(patterns, _pattern_names([pattern for pattern, _ in patterns]), because, fix, pad, swizzle)

    def because(self, row: int, share: tuple[int, int] | None = None) -> str:
        """Say in a sentence what one request asks for and why that costs what it costs.

        ``share`` is how many requests of how many have its pattern, None where that need not be said.
        """
        number = int(self.launch.requests.site[row])
        site, offsets = self.launch.sites[number], self._offsets(np.array([row]))
        pattern = self._known(number, find_patterns(offsets).patterns[0])
        array = self.array_of(row)
        steps = index_steps(self.launch.arrays[array], offsets[0]) if array is not None else None
        if steps and array is not None:
            info = self.launch.arrays[array]
            if site.width == info.shape[-1] * info.itemsize > info.itemsize:  # a row each, as the numbers of a float4
                steps = steps[:-1]
        lanes, why = described(pattern, steps, self.spelling), self._why(site, row, pattern)
        if share is None:
            said = capital(_("{pattern}: {reason}.", pattern=lanes, reason=why))
        else:
            requests, shown = count(share[1], "request"), {"pattern": lanes, "reason": why}
            said = _("In {n:,} of {requests}, {pattern}: {reason}.", n=share[0], requests=requests, **shown)
        if site.pieces == 1:
            return said
        packed = _(
            "Numba accesses the {n} bytes of this field one by one, as its records are packed; "
            "with np.dtype(..., align=True) they are one request.",
            n=site.pieces,
        )
        return f"{said} {packed}"

    def _why(self, site: Site, row: int, pattern: Pattern) -> str:
        addresses = self.launch.requests.addresses[row]
        if site.space == "global":
            lanes, moved = int((addresses >= 0).sum()), int(sectors(addresses, site.width))
            needed = count(int(bytes_used(addresses, site.width)), "byte")
            return clauses(
                ngettext("{n:,} lane needs {needed}", "{n:,} lanes need {needed}", lanes, needed=needed),
                ngettext("{n:,} sector moves", "{n:,} sectors move", moved),
            )
        unknown = unpredictable(site.op, site.dtype, self.hardware.cc)
        if unknown is not None:
            return clause(_(unknown))
        degree = count_wavefronts(addresses, site.width, site.op, self.hardware).degree
        return reason(pattern, site, self.service(row), int(degree), self.hardware.cc)

    def service(self, row: int) -> BankService:
        """Serve one request."""
        requests = self.launch.requests
        block, warp, step, site = (int(getattr(requests, name)[row]) for name in ("block", "warp", "step", "site"))
        now = request_view(self.launch, block, warp, step, site)
        return bank_service(now, bank_layout(self.launch, self.hardware), self.hardware)

    def cost(self, site: Site, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the wavefronts in excess of requests, -1 where they cannot be told, or their sectors."""
        addresses = self.launch.requests.addresses[rows]
        if site.space == "global":
            return sectors(addresses, site.width)
        return excess_at(site, addresses, self.hardware)

    def _offsets(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return byte offsets into the array, or the addresses themselves where a lane is outside of every array."""
        addresses, offsets = self.launch.requests.addresses[rows], relative_addresses(self.launch, rows)[1]
        outside = np.any((offsets < 0) & (addresses >= 0), axis=1)
        return np.where(outside[:, None], addresses, offsets) if outside.any() else offsets

    def array_of(self, row: int) -> int | None:
        """Return which array of the launch a request goes to, None for one that leaves its array."""
        arrays = relative_addresses(self.launch, np.array([row]))[0][0]
        which = arrays[self.launch.requests.addresses[row] >= 0]
        return int(which[0]) if len(which) and which[0] >= 0 and np.all(which == which[0]) else None

    def steady(self, array: int) -> tuple[ArrayRequests, ...]:
        """Return the accesses to an array that data does not decide: what a layout can be made for."""
        accesses = recorded(self.launch, array, self.hardware, self._relative)
        return tuple(
            access
            for access in accesses
            if access.site not in self.loaded or not mostly_irregular(access.offsets, access.times)
        )

    def _known(self, site: int, pattern: Pattern) -> Pattern:
        """Return a pattern with what the source tells of it: whether it is data that makes it irregular."""
        if pattern.kind == "irregular" and site in self.loaded:
            return replace(pattern, kind="data-dependent")
        return pattern

    def _fix(
        self, site: Site, row: int, pattern: Pattern
    ) -> tuple[str | None, LayoutFix[Pad] | None, LayoutFix[Swizzle] | None]:
        if pattern.kind == "data-dependent":
            sentence = _("No pad or swizzle is sure to help where data decides which words are asked for.")
            return sentence, None, None
        index = self.array_of(row)
        if index is None:
            return _("No pad or swizzle helps an access that leaves its array."), None, None
        pad, swizzle = self.fixes(index)
        return self.fix_text(index, pad, swizzle) or _nothing_helps(site), pad, swizzle

    def fix_text(self, index: int, pad: LayoutFix[Pad] | None, swizzle: LayoutFix[Swizzle] | None) -> str | None:
        """Say what to change in an array, and what that rests on and takes; None where there is nothing to change."""
        sentence = fix_text(self.launch.arrays[index], pad, swizzle, self.spelling)
        if sentence is None:
            return None
        logged = _("Based on the logged requests only.") if self.launch.missing else ""
        copied = _("A tensor copy stores it so with {mode}.", mode=_MODE) if self._is_copied(index) else ""
        return sentences(sentence, copied, logged, self._too_large(pad) if pad else "")

    def _too_large(self, pad: LayoutFix[Pad]) -> str:
        """Say that a block with a pad takes more than static shared memory, "" where it does not."""
        limit, needed = self.hardware.row.static_shared, self.launch.shared_bytes + pad.more_bytes
        if not needed > limit >= self.launch.shared_bytes:
            return ""
        return _(
            "With the pad a block takes {taken:,} bytes, more than the {limit:,} of static shared memory.",
            taken=needed,
            limit=limit,
        )

    def fixes(self, index: int) -> tuple[LayoutFix[Pad] | None, LayoutFix[Swizzle] | None]:
        """Return the smallest pad and swizzle of an array that leave no excess, else those that leave least."""
        if index not in self._fixes:
            array, accesses, hardware = self.launch.arrays[index], self.steady(index), self.hardware
            padded, mixed = pads(array, accesses, hardware), swizzles(array, accesses, hardware)
            if self._is_copied(index):  # a pad would part the rows that a copy stores one behind the other
                padded, mixed = iter(()), (swizzle for swizzle in mixed if swizzle.is_of_copies(array.itemsize))
            self._fixes[index] = (
                smallest_fix(array, accesses, padded, None, hardware),
                smallest_fix(array, accesses, mixed, None, hardware),
            )
        return self._fixes[index]

    def _is_copied(self, index: int) -> bool:
        """Tell whether the copy engine stores to an array."""
        sites = [i for i, site in enumerate(self.launch.sites) if site.op == "bulk_store"]
        rows = np.isin(self.launch.requests.site, sites)
        return bool(sites) and bool((self._relative[0][rows] == index).any())


def _pattern_names(patterns: list[Pattern]) -> str:
    """Name the patterns of a site, the first few of many."""
    names = list(dict.fromkeys(name(pattern) for pattern in patterns))
    if len(names) == 1:
        return names[0]
    first, more = items(*names[:_MOST_NAMED]), len(names) - _MOST_NAMED
    if more > 0:
        return _("mixed: {names} and {more} more", names=first, more=more)
    return _("mixed: {names}", names=first)


def _nothing_helps(site: Site) -> str:
    if not operation(site.op).shares:
        return _("No pad or swizzle helps lanes that update the same element; give warps copies to add up later.")
    return _("No pad and no swizzle helps.")
