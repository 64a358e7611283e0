"""How a rewritten kernel counts a request: as one more of the class that the thread last worked out, if it still is.

While it counts, a thread keeps for each access the address, the mask and its first lane that it last worked the class
out for, and how many requests of that class there were since: where the same lanes stand at the same distances, moved
together by whole words or sectors, the class is the same. The first lane adds them to the counts when the class
changes, and when it ends. To find the first lane of a mask costs as much as all the rest of a request of the same
class, so that is done for a new one only.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence

from smemviz.engines.gpu.ptx import access_calls
from smemviz.engines.gpu.ptx.access_calls import ServedAs, served_as, shape_of_counts
from smemviz.recordings.data import SECTOR_BYTES, WARP_SIZE, Site, Space
from smemviz.recordings.vocabulary import UNCOUNTED


def whole_bytes(site: Site) -> int:
    """Return the bytes by which all lanes of a request can move together and it stays one of its class."""
    rule = _served_as(site)
    return rule.piece_bytes if rule else SECTOR_BYTES if site.space == "global" else 1


def _served_as(site: Site) -> ServedAs | None:
    """Return how a request is served, None where that is not known or it is one of global memory."""
    return served_as(site.op, site.width) if site.space == "shared" and site.op not in UNCOUNTED else None


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


def launch_facts() -> Iterator[str]:
    """Read what a warp is told of its launch: whether it is chosen, its number, and where it writes."""
    yield from call("chosen", [("b64", "%s_launch")], ("b32", "%s_some"))
    yield "setp.ne.u32 %s_chosen, %s_some, 0;"
    yield "mov.b32 %s_epoch, 0;"
    yield from call("warp", [("b64", "%s_launch")], ("b64", "%s_warp"))
    for name in ("log", "rows", "cursor", "used"):
        yield f"ld.global.u64 %s_{name}, [%s_launch+{8 * access_calls.LAUNCH.index(name)}];"
    yield "shl.b64 %s_far, %s_warp, 2;"
    yield "add.s64 %s_used, %s_used, %s_far;"


def row(site: str) -> Iterator[str]:
    """Write the addresses and values of a group of lanes, if there is room."""
    yield from leader()
    yield "setp.eq.u32 %s_p, %s_lane, %s_leader;"
    yield "mov.b64 %s_far, -1;"
    yield "@%s_p atom.global.add.u64 %s_far, [%s_cursor], 1;"
    yield "@%s_p atom.global.add.u32 %s_other, [%s_used], 1;"
    yield "mov.b64 {%s_low, %s_some}, %s_far;"
    for name in ("low", "some"):
        yield f"shfl.sync.idx.b32 %s_{name}, %s_{name}, %s_leader, 31, %s_group;"
    yield "mov.b64 %s_far, {%s_low, %s_some};"
    yield "setp.lt.u64 %s_q, %s_far, %s_rows;"
    yield f"mad.lo.u64 %s_counter, %s_far, {access_calls.ROW_BYTES}, %s_log;"
    yield "mad.wide.u32 %s_far, %s_lane, 8, %s_counter;"
    yield "@%s_q st.global.u64 [%s_far], %s_address;"
    yield f"@%s_q st.global.u64 [%s_far+{8 * WARP_SIZE}], %s_value;"
    yield "and.pred %s_p, %s_p, %s_q;"
    yield f"mov.b64 %s_far, {site};"
    yield f"@%s_p st.global.u64 [%s_counter+{8 * access_calls.SITE}], %s_far;"
    yield f"@%s_p st.global.u64 [%s_counter+{8 * access_calls.WARP}], %s_warp;"
    for place, name in ((access_calls.EPOCH, "epoch"), (access_calls.STEP, "other")):
        yield f"cvt.u64.u32 %s_far, %s_{name};"
        yield f"@%s_p st.global.u64 [%s_counter+{8 * place}], %s_far;"


def leader() -> Iterator[str]:
    """Find the first lane of a group."""
    yield "brev.b32 %s_leader, %s_group;"
    yield "clz.b32 %s_leader, %s_leader;"


def call(name: str, arguments: Sequence[tuple[str, str]], result: tuple[str, str] | None = None) -> Iterator[str]:
    """Give a call of one of the functions of ``reports``, with the types of what it passes."""
    yield "{"
    for number, (kind, _) in enumerate(arguments):
        yield f".param .{kind} s_{number};"
    if result:
        yield f".param .{result[0]} s_result;"
    for number, (kind, value) in enumerate(arguments):
        yield f"st.param.{kind} [s_{number}], {value};"
    names = ", ".join(f"s_{number}" for number in range(len(arguments)))
    yield f"call {'(s_result), ' if result else ''}smemviz_{name}, ({names});"
    if result:
        yield f"ld.param.{result[0]} {result[1]}, [s_result];"
    yield "}"
