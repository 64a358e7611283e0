"""Rewriting an entry so that every access also reports itself: before it, under its guard, with its real address.

Two kernels are made of one: the first counts requests by class, the second writes them down. Both are told of their
launch by one more parameter. While it counts, a thread keeps for each access the address, the mask and its first lane
that it last worked the class out for, and how many requests of that class there were since: where the same lanes stand
at the same distances, moved together by whole words or sectors, the class is the same. The first lane adds them to the
counts when the class changes, and when it ends. To find the first lane of a mask costs as much as all the rest of a
request of the same class, so that is done for a new one only.

No report branches where the lanes of a request could part: they would not all meet again where those of the clean
kernel do, and what they do together would be written as several requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from smemviz.engines.gpu.ptx import reports
from smemviz.engines.gpu.ptx.rows import call, launch_facts, leader, row
from smemviz.engines.gpu.ptx.text import EntryText, head, variables
from smemviz.engines.gpu.request_classes import ServedAs, served_as, shape_of_counts
from smemviz.engines.lockstep.ptx.code.module import (
    SIZES,
    Address,
    Group,
    Instruction,
    Number,
    Operand,
    PtxError,
    Register,
)
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import WORKSPACE_BYTES
from smemviz.engines.lockstep.ptx.sites import SiteMap
from smemviz.recordings.data import SECTOR_BYTES, WARP_SIZE, Site, Space
from smemviz.recordings.operation_names import FRAGMENTS

Mode = Literal["count", "write"]
NAME = "smemviz_kernel"
_LAUNCH = "smemviz_launch"

_REGISTERS = {
    "pred": ("p", "q", "on", "shared", "global", "chosen"),
    "b32": ("group", "leader", "lane", "moved", "other", "low", "class", "at", "some", "epoch"),
    "b64": (
        "launch",
        "counters",
        "address",
        "far",
        "value",
        "counter",
        "workspace",
        "log",
        "rows",
        "cursor",
        "used",
        "warp",
    ),
}


@dataclass(frozen=True)
class Access:
    """One access that an instruction makes: where, by which lanes, what is stored there, and as which sites."""

    address: Address
    lanes: int
    value: Operand | None
    sites: dict[Space, int]


def accesses(kernel: Kernel, instruction: Instruction, sites: SiteMap) -> list[Access]:
    """Return the accesses of an instruction that are sites, in the order in which lockstep notes them.

    Raises:
        PtxError: when the instruction names no address for one of them.
    """
    numbers = kernel.sites_of(instruction)
    places = [operand for operand in instruction.operands if isinstance(operand, Address)]
    if instruction.opcode == "cp" and len(numbers) == 2:  # loads the second, then stores to the first
        places = places[::-1]
    if len(places) < len(numbers):
        raise PtxError(f"{instruction.text} is not counted on the GPU", instruction.place)
    reported = []
    for raw, place in zip(numbers, places, strict=False):
        space = kernel.memory[raw].space
        spaces: tuple[Space, ...] = ("global", "shared") if space == "generic" else (_space(space),)
        held = {where: sites.number(raw, where) for where in spaces}
        matrices = instruction.opcode in ("ldmatrix", "stmatrix")
        lanes = 8 * int(instruction.one_of("x1", "x2", "x4")[1]) if matrices else WARP_SIZE
        reported.append(Access(place, lanes, _stored(instruction), held))
    return reported


def _space(name: str) -> Space:
    return "shared" if name == "shared" else "global"


def _stored(instruction: Instruction) -> Operand | None:
    """Return the one value that a store stores, None where there are several or none."""
    if instruction.opcode != "st":
        return None
    value = instruction.operands[1]
    if isinstance(value, Group):
        value = value.items[0] if len(value.items) == 1 else instruction.operands[1]
    return value if isinstance(value, Register | Number) else None


def instrumented(kernel: Kernel, ptx: str, sites: SiteMap, mode: Mode, threads: int) -> str:
    """Return a module of PTX with a kernel ``NAME`` that does what an entry does, and counts or writes its requests.

    Its blocks have so many threads at most.

    Raises:
        PtxError: for what cannot be rewritten.
    """
    return _Rewrite(kernel, sites, mode).module(head(ptx), threads)


class _Rewrite:
    def __init__(self, kernel: Kernel, sites: SiteMap, mode: Mode) -> None:
        self._kernel = kernel
        self._sites = sites
        self._mode = mode
        self._text = EntryText(kernel)
        self._classes = shape_of_counts(sites.sites)[2]
        self._labels = 0
        self._kept: list[Space] = []
        self._kept_of_shared: dict[int, int] = {}
        self._kinds: set[ServedAs] = set()
        self._waits_for_grid = any("%envreg1" in instruction.text for instruction in kernel.body)

    def module(self, first_lines: str, threads: int) -> str:
        text = self._text
        body = list(self._body())
        parameters = ",\n    ".join([*text.parameters(), f".param .u64 {_LAUNCH}"])
        registers = [f".reg .{kind} {', '.join(f'%s_{n}' for n in names)};" for kind, names in _REGISTERS.items()]
        kept = [line for number, space in enumerate(self._kept) for line in _kept_registers(number, space)]
        inside = [*registers, *text.declarations(), *kept, *self._begin(), *body]
        return "\n".join(
            [
                first_lines,
                *variables(self._kernel.module),
                *text.shared(),
                reports.functions(self._kinds),
                f".visible .entry {NAME}(\n    {parameters}\n)\n.maxntid {threads}\n{{",
                *(f"    {line}" for line in inside),
                "}\n",
            ]
        )

    def _begin(self) -> Iterator[str]:
        yield f"ld.param.u64 %s_launch, [{_LAUNCH}];"
        yield "mov.u32 %s_lane, %laneid;"
        if self._waits_for_grid:
            yield "mov.b32 %s_low, %envreg2;"
            yield "mov.b32 %s_some, %envreg1;"
            yield "mov.b64 %s_workspace, {%s_low, %s_some};"
        for number, variable in enumerate(self._kernel.shared):
            yield f"mov.u64 %s_address, {variable.name};"
            yield from call("base", [("b64", "%s_launch"), ("b32", str(number)), ("b64", "%s_address")])
        if self._mode == "count":
            yield from call("counters", [("b64", "%s_launch")], ("b64", "%s_counters"))
            for number in range(len(self._kept)):
                yield f"mov.b32 %s_mask{number}, 0;"
                yield f"mov.b32 %s_led{number}, 0;"
                yield f"mov.b32 %s_first{number}, 0;"
        else:
            yield from launch_facts()

    def _body(self) -> Iterator[str]:
        labels = self._text.labels_at()
        body = self._kernel.body
        exits: list[int] = []
        lines: list[str] = []
        for number, instruction in enumerate(body):
            lines += [f"{label}:" for label in labels[number]]
            if instruction.opcode in ("ret", "exit"):
                exits.append(len(lines))
                lines.append(self._text.guard(instruction))
                continue
            for access in accesses(self._kernel, instruction, self._sites):
                lines += self._reported(instruction, access)
            if (
                self._mode == "write"
                and instruction.opcode in ("bar", "barrier")
                and not instruction.has("warp", "arrive")
            ):
                lines.append("add.u32 %s_epoch, %s_epoch, 1;")
            written = self._text.instruction(instruction)
            if written:
                lines.append(self._text.guard(instruction) + written)
        lines += [f"{label}:" for label in labels[len(body)]]
        exits.append(len(lines))
        lines.append("")
        ends = set(exits)
        for number, line in enumerate(lines):
            if number in ends:  # only now is it known what a thread keeps
                yield from self._end(line)
            else:
                yield line

    def _end(self, guard: str) -> Iterator[str]:
        """End a thread, where a guard holds."""
        after = self._label()
        if guard:
            register = guard.strip().removeprefix("@")
            yield f"@{register[1:] if register.startswith('!') else f'!{register}'} bra {after};"
        if self._mode == "count":
            for number in range(len(self._kept)):
                yield from self._add(number)
        yield "exit;"
        yield f"{after}:"

    def _label(self) -> str:
        self._labels += 1
        return f"$s_{self._labels}"

    def _only_if_chosen(self, lines: Iterable[str]) -> Iterator[str]:
        """Report where the warp is chosen."""
        after = self._label()
        yield f"@!%s_chosen bra.uni {after};"
        yield from lines
        yield f"{after}:"

    # -- one access

    def _reported(self, instruction: Instruction, access: Access) -> Iterator[str]:
        lines = self._by_space(instruction, access)
        yield from lines if self._mode == "count" else self._only_if_chosen(lines)

    def _by_space(self, instruction: Instruction, access: Access) -> Iterator[str]:
        """Report an access as that of the memory which its address means; what is in local memory is none."""
        after = self._label()
        if guard := instruction.guard:
            yield f"@{'' if guard.negated else '!'}{self._text.operand(guard.register)} bra {after};"
        if access.lanes < WARP_SIZE:
            yield f"setp.lt.u32 %s_on, %s_lane, {access.lanes};"
            yield f"@!%s_on bra {after};"
        yield from self._address(access.address)
        if "global" in access.sites and self._waits_for_grid:
            yield "sub.s64 %s_far, %s_address, %s_workspace;"
            yield f"setp.lt.u64 %s_on, %s_far, {WORKSPACE_BYTES};"
            yield f"@%s_on bra {after};"
        if len(access.sites) == 1:
            ((space, site),) = access.sites.items()
            yield "activemask.b32 %s_group;"
            yield from self._request(access, space, site)
        else:
            yield "isspacep.shared %s_shared, %s_address;"
            yield "isspacep.local %s_on, %s_address;"
            yield "or.pred %s_on, %s_on, %s_shared;"
            yield "not.pred %s_global, %s_on;"
            yield from self._one_of_both(access, "global")
            yield from self._one_of_both(access, "shared")
        yield f"{after}:"

    def _one_of_both(self, access: Access, space: Space) -> Iterator[str]:
        after = self._label()
        yield f"@!%s_{space} bra {after};"
        yield "activemask.b32 %s_group;"
        if space == "shared":
            yield "cvta.to.shared.u64 %s_address, %s_address;"
        yield from self._request(access, space, access.sites[space])
        yield f"{after}:"

    def _address(self, address: Address) -> Iterator[str]:
        """Put an address into 64 bits."""
        base, text = address.base, self._text.operand(address.base)
        if isinstance(base, Register) and SIZES[self._text.kind(base)] == 4:
            yield f"cvt.u64.u32 %s_address, {text};"
        else:
            yield f"mov.b64 %s_address, {text};"
        if address.offset:
            yield f"add.s64 %s_address, %s_address, {address.offset};"

    def _request(self, access: Access, space: Space, number: int) -> Iterator[str]:
        site = self._sites.sites[number]
        if self._mode == "write":
            yield from self._written(access, site, number)
        elif site.space == "shared" and site.op not in FRAGMENTS:
            served = served_as(site.op, site.width)
            self._kinds.add(served)
            yield from self._counted(site, number, served)
        else:
            yield from self._counted(site, number, None)

    def _written(self, access: Access, site: Site, number: int) -> Iterator[str]:
        value = self._value(access.value, site) if site.space == "shared" else []
        yield from value or ["mov.b64 %s_value, 0;"]
        yield from row(str(number | (reports.HAS_VALUES if value else 0)))

    def _value(self, value: Operand | None, site: Site) -> list[str]:
        """Put what is stored into 64 bits; nothing where that is not known."""
        if isinstance(value, Number):
            return [f"mov.b64 %s_value, {value.value & (1 << 8 * site.width) - 1};"]
        if not isinstance(value, Register):
            return []
        text, kind = self._text.operand(value), self._text.kind(value)
        if SIZES[kind] == 8:
            return [f"mov.b64 %s_value, {text};"]
        if SIZES[kind] == 4:
            return [f"mov.b32 %s_low, {text};", "cvt.u64.u32 %s_value, %s_low;"]
        return [f"cvt.u64.u16 %s_value, {text};"] if kind in ("b16", "u16", "s16") else []

    # -- counting

    def _counted(self, site: Site, number: int, served: ServedAs | None) -> Iterator[str]:
        """Count a request of the lanes in a group, with what a thread keeps for this access."""
        space: Space = site.space
        same, kept = self._label(), self._what_is_kept(number, space)
        whole = served.piece_bytes if served else SECTOR_BYTES if space == "global" else 1
        yield f"setp.eq.b32 %s_p, %s_mask{kept}, %s_group;"
        if space == "shared":
            yield "cvt.u32.u64 %s_at, %s_address;"
            yield f"sub.s32 %s_moved, %s_at, %s_near{kept};"
        else:
            yield f"sub.s64 %s_far, %s_address, %s_near{kept};"
            yield "cvt.u32.u64 %s_moved, %s_far;"
            yield "cvt.s64.s32 %s_counter, %s_moved;"
            yield "setp.eq.and.s64 %s_p, %s_counter, %s_far, %s_p;"
        # Where the first lane is not of this group, neither is the mask the same.
        yield f"shfl.sync.idx.b32 %s_other, %s_moved, %s_first{kept}, 31, %s_group;"
        yield "setp.eq.and.s32 %s_p, %s_moved, %s_other, %s_p;"
        yield f"and.b32 %s_low, %s_moved, {whole - 1};"
        yield "setp.eq.and.s32 %s_p, %s_low, 0, %s_p;"
        yield "vote.sync.all.pred %s_q, %s_p, %s_group;"
        yield f"@%s_q bra {same};"
        yield from self._add(kept)
        yield f"mov.b32 %s_led{kept}, 0;"
        yield f"mov.b32 %s_mask{kept}, %s_group;"
        yield from leader()
        yield f"mov.b32 %s_first{kept}, %s_leader;"
        if space == "shared":
            yield f"mov.b32 %s_near{kept}, %s_at;"
        else:
            yield f"mov.b64 %s_near{kept}, %s_address;"
        yield from self._class_of(space, served)
        yield f"add.u32 %s_class{kept}, %s_class, {number * self._classes};"
        yield f"{same}:"
        yield f"add.u32 %s_led{kept}, %s_led{kept}, 1;"

    def _what_is_kept(self, site: int, space: Space) -> int:
        """Return the number of what a thread keeps for an access.

        Copies of one access that the compiler made, of a loop unrolled, are mostly whole words of shared memory from
        each other, and so share it; in global memory they are less than a sector from each other.
        """
        if space == "shared" and site in self._kept_of_shared:
            return self._kept_of_shared[site]
        self._kept.append(space)
        kept = len(self._kept) - 1
        if space == "shared":
            self._kept_of_shared[site] = kept
        return kept

    def _class_of(self, space: Space, served: ServedAs | None) -> Iterator[str]:
        if space == "global":
            return call("sectors", [("b32", "%s_group"), ("b64", "%s_address")], ("b32", "%s_class"))
        if served is None:  # its wavefronts are not told
            return iter(["mov.b32 %s_class, 0;"])
        name = reports.class_name(served).removeprefix("smemviz_")
        return call(name, [("b32", "%s_group"), ("b32", "%s_at")], ("b32", "%s_class"))

    def _add(self, kept: int) -> Iterator[str]:
        """Add the requests of which a thread was the first to the counts."""
        yield f"setp.ne.u32 %s_p, %s_led{kept}, 0;"
        yield f"setp.eq.and.u32 %s_p, %s_first{kept}, %s_lane, %s_p;"
        yield f"@%s_p mad.wide.u32 %s_counter, %s_class{kept}, 8, %s_counters;"
        yield f"@%s_p cvt.u64.u32 %s_far, %s_led{kept};"
        yield "@%s_p red.global.add.u64 [%s_counter], %s_far;"


def _kept_registers(number: int, space: Space) -> Iterator[str]:
    yield f".reg .b32 %s_mask{number}, %s_led{number}, %s_class{number}, %s_first{number};"
    yield f".reg .b{32 if space == 'shared' else 64} %s_near{number};"
