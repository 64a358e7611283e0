"""How a rewritten kernel counts a request: as one more of the class that the thread last worked out, if it still is.

While it counts, a thread keeps for each access the address, the mask and its first lane that it last worked the class
out for, and how many requests of that class there were since: where the same lanes stand at the same distances, moved
together by whole words or sectors, the class is the same. The first lane adds them to the counts when the class
changes, and when it ends. To find the first lane of a mask costs as much as all the rest of a request of the same
class, so that is done for a new one only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from smemviz.engines.gpu.ptx import access_calls
from smemviz.engines.gpu.ptx.rows import leader
from smemviz.engines.gpu.request_classes import ServedAs, served_as, shape_of_counts
from smemviz.recordings.data import SECTOR_BYTES, Site, Space
from smemviz.recordings.vocabulary import FRAGMENTS


def whole_bytes(site: Site) -> int:
    """Return the bytes by which all lanes of a request can move together and it stays one of its class."""
    rule = _served_as(site)
    return rule.piece_bytes if rule else SECTOR_BYTES if site.space == "global" else 1


def _served_as(site: Site) -> ServedAs | None:
    """Return how a request is served, None where that is not known or it is one of global memory."""
    return served_as(site.op, site.width) if site.space == "shared" and site.op not in FRAGMENTS else None


class Counting:
    """Writes what counts requests of some sites, and calls the functions of ``reports``."""

    def __init__(self, sites: Sequence[Site], capability: tuple[int, int]) -> None:
        self._classes = shape_of_counts(sites)[2]
        self.functions = access_calls.functions((rule for site in sites if (rule := _served_as(site))), capability)
        self._spaces: list[Space] = []
        self._numbers: dict[Hashable, int] = {}
        self._labels = 0

    def registers(self) -> Iterator[str]:
        """Give the declarations of what a thread keeps."""
        for number, space in enumerate(self._spaces):
            yield f".reg .b32 %s_mask{number}, %s_led{number}, %s_class{number}, %s_first{number};"
            yield f".reg .b{32 if space == 'shared' else 64} %s_near{number};"

    def begin(self) -> Iterator[str]:
        """Begin a thread."""
        for number in range(len(self._spaces)):
            for name in ("mask", "led", "first"):
                yield f"mov.b32 %s_{name}{number}, 0;"

    def end(self) -> Iterator[str]:
        """Add all that a thread has not added yet."""
        for number in range(len(self._spaces)):
            yield from self._add(number)

    def slot_of(self, key: Hashable, space: Space) -> int:
        """Return the number of what a thread keeps for the accesses that share a key."""
        if key not in self._numbers:
            self._numbers[key] = len(self._spaces)
            self._spaces.append(space)
        return self._numbers[key]

    def request(self, site: Site, number: int, slot: int) -> Iterator[str]:
        """Count a request of the lanes in a group, with what a thread keeps for this access."""
        self._labels += 1
        same, rule = f"$c_{self._labels}", _served_as(site)
        yield f"setp.eq.b32 %s_p, %s_mask{slot}, %s_group;"
        if site.space == "shared":
            yield "cvt.u32.u64 %s_at, %s_address;"
            yield f"sub.s32 %s_moved, %s_at, %s_near{slot};"
        else:
            yield f"sub.s64 %s_far, %s_address, %s_near{slot};"
            yield "cvt.u32.u64 %s_moved, %s_far;"
            yield "cvt.s64.s32 %s_counter, %s_moved;"
            yield "setp.eq.and.s64 %s_p, %s_counter, %s_far, %s_p;"
        # Where the first lane is not of this group, neither is the mask the same.
        yield f"shfl.sync.idx.b32 %s_other, %s_moved, %s_first{slot}, 31, %s_group;"
        yield "setp.eq.and.s32 %s_p, %s_moved, %s_other, %s_p;"
        yield f"and.b32 %s_low, %s_moved, {whole_bytes(site) - 1};"
        yield "setp.eq.and.s32 %s_p, %s_low, 0, %s_p;"
        yield "vote.sync.all.pred %s_q, %s_p, %s_group;"
        yield f"@%s_q bra {same};"
        yield from self._add(slot)
        yield f"mov.b32 %s_led{slot}, 0;"
        yield f"mov.b32 %s_mask{slot}, %s_group;"
        yield from leader()
        yield f"mov.b32 %s_first{slot}, %s_leader;"
        if site.space == "shared":
            yield f"mov.b32 %s_near{slot}, %s_at;"
        else:
            yield f"mov.b64 %s_near{slot}, %s_address;"
        yield from self._class_of(site.space, rule)
        yield f"add.u32 %s_class{slot}, %s_class, {number * self._classes};"
        yield f"{same}:"
        yield f"add.u32 %s_led{slot}, %s_led{slot}, 1;"

    def more(self, slot: int, rounds: str, copies: int, before: int) -> Iterator[str]:
        """Count more requests of the class last worked out: so many in each of some rounds, and those before."""
        yield f"mad.lo.u32 %s_low, {rounds}, {copies}, {before};"
        yield f"add.u32 %s_led{slot}, %s_led{slot}, %s_low;"

    def _class_of(self, space: Space, rule: ServedAs | None) -> Iterable[str]:
        if space == "global":
            return self._worked_out("smemviz_sectors", ("b64", "%s_address"))
        if rule is None:  # its wavefronts are not told
            return ["mov.b32 %s_class, 0;"]
        return self._worked_out(access_calls.class_name(rule), ("b32", "%s_at"))

    def _worked_out(self, name: str, address: tuple[str, str]) -> Iterator[str]:
        return self.functions.written_out(name, [("b32", "%s_group"), address], "%s_class", self._labels)

    def _add(self, slot: int) -> Iterator[str]:
        """Add the requests of which a thread was the first to the counts."""
        yield f"setp.ne.u32 %s_p, %s_led{slot}, 0;"
        yield f"setp.eq.and.u32 %s_p, %s_first{slot}, %s_lane, %s_p;"
        yield f"@%s_p mad.wide.u32 %s_counter, %s_class{slot}, 8, %s_counters;"
        yield f"@%s_p cvt.u64.u32 %s_far, %s_led{slot};"
        yield "@%s_p red.global.add.u64 [%s_counter], %s_far;"
