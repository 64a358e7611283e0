"""Rewriting an entry so that every access also reports itself: before it, under its guard, with its real address.

Two kernels are made of one: the first counts requests by class (``counting``), the second writes them down. Both are
told of their launch by one more parameter. No report branches where the lanes of a request could part: they would not
all meet again where those of the clean kernel do, and what they do together would be written as several requests.

Of a loop in which some accesses are steady (``steady_loops``) the first kernel has a second text, without reports of
them. It goes there after a round, and accesses, that all lanes made together, and adds what they are counted as when it
leaves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Literal

from smemviz.engines.gpu.ptx import access_calls
from smemviz.engines.gpu.ptx.accesses import Access, Accesses
from smemviz.engines.gpu.ptx.counting import Counting, call, launch_facts, leader, row
from smemviz.engines.gpu.ptx.forms import Form
from smemviz.engines.gpu.ptx.ptx_text import EntryText, head, variables
from smemviz.engines.gpu.ptx.steady_loops import Place, steady_loops
from smemviz.engines.gpu.ptx.structured import structured
from smemviz.engines.lockstep.ptx.code.module import SIZES, Address, Instruction, Number, Operand, Register, Symbol
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import WORKSPACE_BYTES
from smemviz.recordings.data import WARP_SIZE, Site, Space
from smemviz.recordings.vocabulary import FRAGMENTS

Mode = Literal["count", "write"]
MODES: tuple[Mode, ...] = ("count", "write")
NAME = "smemviz_kernel"
_LAUNCH = "smemviz_launch"
_OFFSET = "cvta.to.shared.u64 %s_address, %s_address;"

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


def instrumented(
    kernel: Kernel, ptx: str, accesses: Accesses, mode: Mode, threads: int, capability: tuple[int, int]
) -> str:
    """Return a module of PTX with a kernel ``NAME`` that does what an entry does, and counts or writes its accesses.

    Its blocks have so many threads at most; ``capability`` is the compute capability that it is for.

    Raises:
        PtxError: for what cannot be rewritten.
    """
    return _Rewrite(structured(kernel), accesses, mode, capability).module(head(ptx), threads)


class _Rewrite:
    def __init__(self, kernel: Kernel, accesses: Accesses, mode: Mode, capability: tuple[int, int]) -> None:
        self._kernel = kernel
        self._accesses = accesses
        self._mode = mode
        self._text = EntryText(kernel)
        self._counting = Counting(accesses.sites, capability)
        self._launch = accesses.launch or _LAUNCH
        self._labels = 0
        self._loops = steady_loops(kernel, self._accesses.candidates) if mode == "count" else []
        self._shares = {place: key for loop in self._loops for place, key in loop.steady.items()}

    def module(self, first_lines: str, threads: int) -> str:
        text = self._text
        body = list(self._body())
        more = [] if self._accesses.launch else [f".param .u64 {_LAUNCH}"]
        parameters = ",\n    ".join([*text.parameters(), *more])
        registers = [f".reg .{kind} {', '.join(f'%s_{n}' for n in names)};" for kind, names in _REGISTERS.items()]
        registers += [f".reg .b32 %s_together{n}, %s_positive{n}, %s_rounds{n};" for n in range(len(self._loops))]
        inside = [*registers, *text.declarations(), *self._counting.registers(), *self._begin(), *body]
        return "\n".join(
            [
                first_lines,
                *variables(self._kernel.module),
                *text.shared(),
                *text.called(),
                self._counting.functions.called,
                f".visible .entry {NAME}(\n    {parameters}\n)\n.maxntid {threads}\n{{",
                *(f"    {line}" for line in inside),
                "}\n",
            ]
        )

    def _begin(self) -> Iterator[str]:
        yield f"ld.param.u64 %s_launch, [{self._launch}];"
        yield "mov.u32 %s_lane, %laneid;"
        if self._accesses.waits_for_grid:
            yield "mov.b32 %s_low, %envreg2;"
            yield "mov.b32 %s_some, %envreg1;"
            yield "mov.b64 %s_workspace, {%s_low, %s_some};"
        for number, variable in enumerate(self._accesses.shared):
            yield f"mov.u64 %s_address, {variable.name};"
            yield from self._begins(number, "%s_address")
        if self._mode == "count":
            yield from call("counters", [("b64", "%s_launch")], ("b64", "%s_counters"))
            yield from self._counting.begin()
        else:
            yield from launch_facts()

    def _body(self) -> Iterator[str]:
        labels = self._text.labels_at()
        body = self._kernel.body
        exits: list[int] = []
        lines: list[str] = []
        heads = {loop.head: number for number, loop in enumerate(self._loops)}
        lasts = {loop.last: number for number, loop in enumerate(self._loops)}
        left = {number + 1 for loop in self._loops for number in loop.exits}
        for number, instruction in enumerate(body):
            lines += [f"{label}:" for label in labels[number]]
            lines += [f"$after_{number}:"] if number in left else []
            if number in heads:
                lines += self._at_head(heads[number])
            if instruction.opcode in ("ret", "exit"):
                exits.append(len(lines))
                lines.append(self._text.guard(instruction))
                continue
            for index, access in enumerate(self._accesses.of(instruction)):
                lines += self._reported(instruction, access, (number, index))
            if (
                self._mode == "write"
                and instruction.opcode in ("bar", "barrier")
                and not instruction.has("warp", "arrive")
            ):
                lines.append("add.u32 %s_epoch, %s_epoch, 1;")
            lines += self._back(lasts[number]) if number in lasts else self._written_out(instruction)
        lines += [f"{label}:" for label in labels[len(body)]]
        lines += [f"$after_{len(body)}:"] if len(body) in left else []
        exits.append(len(lines))
        lines.append("")
        for number in range(len(self._loops)):
            lines += self._without_reports(number)
        ends = set(exits)
        for number, line in enumerate(lines):
            if number in ends:  # only now is it known what a thread keeps
                yield from self._end(line)
            else:
                yield line

    def _begins(self, array: int, where: str) -> Iterator[str]:
        yield from call("base", [("b64", "%s_launch"), ("b32", str(array)), ("b64", where)])

    def _written_out(self, instruction: Instruction) -> list[str]:
        if array := self._accesses.array(instruction):
            return list(self._begins(array[0], self._text.operand(array[1])))
        if self._accesses.is_mark(instruction):
            return []
        written = self._text.instruction(instruction)
        return [self._text.guard(instruction) + written] if written else []

    def _end(self, guard: str) -> Iterator[str]:
        after = self._label()
        if guard:
            yield f"{_opposite(guard)}bra {after};"
        if self._mode == "count":
            yield from self._counting.end()
        yield "exit;"
        yield f"{after}:"

    def _label(self) -> str:
        self._labels += 1
        return f"$s_{self._labels}"

    def _only_if_chosen(self, lines: Iterable[str]) -> Iterator[str]:
        after = self._label()
        yield f"@!%s_chosen bra.uni {after};"
        yield from lines
        yield f"{after}:"

    # -- one access

    def _reported(self, instruction: Instruction, access: Access, at: Place) -> Iterator[str]:
        lines = self._by_space(instruction, access, at)
        yield from lines if self._mode == "count" else self._only_if_chosen(lines)

    def _by_space(self, instruction: Instruction, access: Access, at: Place) -> Iterator[str]:
        """Report an access as that of the memory which its address means; what is in local memory is none."""
        after = self._label()
        if guard := instruction.guard:
            yield f"@{'' if guard.negated else '!'}{self._text.operand(guard.register)} bra {after};"
        if access.bytes_read is not None:
            yield from self._text.skipping(access.bytes_read, after)
        if access.lanes < WARP_SIZE:
            yield f"setp.lt.u32 %s_on, %s_lane, {access.lanes};"
            yield f"@!%s_on bra {after};"
        yield from self._address(access.address)
        if "global" in access.sites and self._accesses.waits_for_grid:
            yield "sub.s64 %s_far, %s_address, %s_workspace;"
            yield f"setp.lt.u64 %s_on, %s_far, {WORKSPACE_BYTES};"
            yield f"@%s_on bra {after};"
        if len(access.sites) == 1:
            ((space, site),) = access.sites.items()
            if access.is_generic:
                yield _OFFSET
            yield "activemask.b32 %s_group;"
            yield from self._request(access, space, site, at)
        else:
            yield "isspacep.shared %s_shared, %s_address;"
            yield "isspacep.local %s_on, %s_address;"
            yield "or.pred %s_on, %s_on, %s_shared;"
            yield "not.pred %s_global, %s_on;"
            yield from self._one_of_both(access, "global", at)
            yield from self._one_of_both(access, "shared", at)
        yield f"{after}:"

    def _one_of_both(self, access: Access, space: Space, at: Place) -> Iterator[str]:
        after = self._label()
        yield f"@!%s_{space} bra {after};"
        yield "activemask.b32 %s_group;"
        if space == "shared":
            yield _OFFSET
        yield from self._request(access, space, access.sites[space], at)
        yield f"{after}:"

    def _address(self, address: Address) -> Iterator[str]:
        base, text = address.base, self._text.operand(address.base)
        if isinstance(base, Register) and SIZES[self._text.kind(base)] == 4:
            yield f"cvt.u64.u32 %s_address, {text};"
        else:
            yield f"mov.b64 %s_address, {text};"
        if address.offset:
            yield f"add.s64 %s_address, %s_address, {address.offset};"

    def _request(self, access: Access, space: Space, number: int, at: Place) -> Iterator[str]:
        site = self._accesses.sites[number]
        if self._mode == "write":
            yield from self._written(access, site, number)
        else:
            yield from self._counting.request(site, number, self._slot(space, number, at))

    def _slot(self, space: Space, site: int, at: Place) -> int:
        """Return the number of what a thread keeps for an access.

        Copies of one access that the compiler made, of a loop unrolled, are mostly whole words of shared memory from
        each other, and so share it; in global memory they are less than a sector from each other.
        """
        key: Hashable = (space, site) if space == "shared" else at
        shares = self._shares.get(at)
        return self._counting.slot_of(key if shares is None or shares.space != space else shares, space)

    def _written(self, access: Access, site: Site, number: int) -> Iterator[str]:
        value = self._value(access.value, site) if site.space == "shared" else []
        yield from value or ["mov.b64 %s_value, 0;"]
        yield from row(str(number | (access_calls.HAS_VALUES if value else 0)))

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

    # -- loops in which some accesses are steady

    def _at_head(self, number: int) -> Iterator[str]:
        """Keep, where a round begins, which lanes begin it and whether what must be positive is."""
        yield f"activemask.b32 %s_together{number};"
        if self._loops[number].positive:
            yield "setp.eq.b32 %s_p, %s_lane, %s_lane;"
            for form in self._loops[number].positive:
                yield from self._is_positive(form)
            yield f"selp.b32 %s_positive{number}, 1, 0, %s_p;"

    def _back(self, number: int) -> Iterator[str]:
        """Go back to the first instruction of a loop: of its text without reports, if all lanes will go on together."""
        last = self._kernel.body[self._loops[number].last]
        after = self._label()
        if guard := self._text.guard(last):
            yield f"{_opposite(guard)}bra {after};"
        yield "activemask.b32 %s_group;"
        yield f"setp.eq.b32 %s_p, %s_group, %s_together{number};"
        for slot in self._kept_by_all(number):
            yield f"setp.eq.and.b32 %s_p, %s_group, %s_mask{slot}, %s_p;"
        yield from leader()
        for name in self._loops[number].agreed:
            for line in self._in_32_bits(name):
                yield line
                yield "shfl.sync.idx.b32 %s_other, %s_low, %s_leader, 31, %s_group;"
                yield "setp.eq.and.b32 %s_p, %s_low, %s_other, %s_p;"
        if self._loops[number].positive:
            yield f"setp.eq.and.b32 %s_p, %s_positive{number}, 1, %s_p;"
        yield "vote.sync.all.pred %s_q, %s_p, %s_group;"
        yield f"@%s_q bra $steady_{number};"
        yield f"bra {self._text.operand(last.operands[-1])};"
        yield f"{after}:"

    def _kept_by_all(self, number: int) -> list[int]:
        """Return what a thread keeps for the steady accesses of a loop that all lanes make, not the first alone."""
        shares = set(self._loops[number].steady.values())
        of_all = [share for share in shares if self._accesses.sites[share.site].op not in FRAGMENTS]
        return sorted(self._counting.slot_of(share, share.space) for share in of_all)

    def _is_positive(self, form: Form) -> Iterator[str]:
        """Leave the predicate as it is where a sum of registers is not below 0."""
        yield f"mov.b64 %s_far, {form.constant};"
        for name, factor in form.terms:
            text, kind = self._text.operand(Register(name)), self._text.kind(Register(name))
            yield f"{'mov.b64' if SIZES[kind] == 8 else 'cvt.s64.s32'} %s_value, {text};"
            yield f"mad.lo.s64 %s_far, %s_value, {factor}, %s_far;"
        yield "setp.ge.and.s64 %s_p, %s_far, 0, %s_p;"

    def _in_32_bits(self, name: str) -> Iterator[str]:
        """Put what a register holds into ``%s_low``, one half after the other where it is longer."""
        if name not in self._kernel.registers:
            if name.startswith(("%tid", "%laneid")):  # the others are the same for all
                yield f"mov.u32 %s_low, {name};"
            return
        text, kind = self._text.operand(Register(name)), self._text.kind(Register(name))
        if kind == "pred":
            yield f"selp.u32 %s_low, 1, 0, {text};"
        elif SIZES[kind] == 8:
            yield f"cvt.u32.u64 %s_low, {text};"
            yield f"mov.b64 {{%s_some, %s_low}}, {text};"
        elif SIZES[kind] == 4:
            yield f"mov.b32 %s_low, {text};"
        else:
            yield f"cvt.u32.u16 %s_low, {text};"

    def _without_reports(self, number: int) -> Iterator[str]:
        """Write a loop again, without reports of its steady accesses, which are added when it is left."""
        loop, body, labels = self._loops[number], self._kernel.body, self._kernel.flat.labels
        copies: Counter[int] = Counter()
        ways_out: list[tuple[str, str, Counter[int]]] = []
        yield f"$steady_{number}:"
        yield f"mov.b32 %s_rounds{number}, 0;"
        yield f"$round_{number}:"
        nexts = [*(block.start for block in loop.blocks[1:]), loop.head]
        for block, next_ in zip(loop.blocks, nexts, strict=True):
            for at in block:
                instruction = body[at]
                for index, access in enumerate(self._accesses.of(instruction)):
                    shares = loop.steady.get((at, index))
                    if shares is None:
                        yield from self._reported(instruction, access, (at, index))
                    else:
                        copies[self._counting.slot_of(shares, shares.space)] += 1
                if instruction.opcode != "bra":
                    yield from self._written_out(instruction)
                elif at in loop.exits:
                    (target,) = instruction.operands
                    goes_on = labels[target.name] == next_ if isinstance(target, Symbol) else False
                    out, guard = self._label(), self._text.guard(instruction)
                    yield f"{_opposite(guard) if goes_on else guard}bra {out};"
                    ways_out.append((out, f"$after_{at + 1}" if goes_on else self._text.operand(target), copies.copy()))
        yield f"add.u32 %s_rounds{number}, %s_rounds{number}, 1;"
        yield f"bra $round_{number};"
        for out, where, before in ways_out:
            yield f"{out}:"
            for slot, count in copies.items():
                yield from self._counting.more(slot, f"%s_rounds{number}", count, before[slot])
            yield f"bra {where};"


def _opposite(guard: str) -> str:
    register = guard.strip().removeprefix("@")
    return f"@{register[1:] if register.startswith('!') else f'!{register}'} "
