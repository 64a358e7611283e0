"""Rewriting an entry so that every access also reports itself: before it, under its guard, with its real address.

Two kernels are made of one: the first counts requests by class (``counting``), the second writes them down. Both are
told of their launch by one more parameter. No report branches where the lanes of a request could part: they would not
all meet again where those of the clean kernel do, and what they do together would be written as several requests.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Literal

from smemviz.engines.gpu.ptx import access_calls
from smemviz.engines.gpu.ptx.accesses import Access, Accesses
from smemviz.engines.gpu.ptx.counting import Counting, call, launch_facts, row
from smemviz.engines.gpu.ptx.ptx_text import EntryText, head, variables
from smemviz.engines.gpu.ptx.structured import structured
from smemviz.engines.lockstep.ptx.code.module import SIZES, Address, Instruction, Number, Operand, Register
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import WORKSPACE_BYTES
from smemviz.recordings.data import WARP_SIZE, Site, Space

Mode = Literal["count", "write"]
MODES: tuple[Mode, ...] = ("count", "write")
Place = tuple[int, int]  # of an access: the number of its instruction, and its number there
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
        self._labels = 0

    def module(self, first_lines: str, threads: int) -> str:
        text = self._text
        body = list(self._body())
        parameters = ",\n    ".join([*text.parameters(), f".param .u64 {_LAUNCH}"])
        registers = [f".reg .{kind} {', '.join(f'%s_{n}' for n in names)};" for kind, names in _REGISTERS.items()]
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
        yield f"ld.param.u64 %s_launch, [{_LAUNCH}];"
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
        for number, instruction in enumerate(body):
            lines += [f"{label}:" for label in labels[number]]
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
            lines += self._written_out(instruction)
        lines += [f"{label}:" for label in labels[len(body)]]
        exits.append(len(lines))
        lines.append("")
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
        return self._counting.slot_of(key, space)

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


def _opposite(guard: str) -> str:
    register = guard.strip().removeprefix("@")
    return f"@{register[1:] if register.startswith('!') else f'!{register}'} "
