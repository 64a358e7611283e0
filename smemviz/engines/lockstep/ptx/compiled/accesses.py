"""How compiled kernels touch memory, and what the lanes of a warp do together: an emitter for each opcode."""

from typing import Any

from llvmlite import ir

from smemviz.engines.lockstep.ptx.code.module import (
    DTYPES,
    SIZES,
    Address,
    Group,
    Instruction,
    Number,
    Register,
    Symbol,
    items_of,
)
from smemviz.engines.lockstep.ptx.compiled import state as s
from smemviz.engines.lockstep.ptx.compiled.emitter import Emit, Emitter, Operation
from smemviz.engines.lockstep.ptx.compiled.kept import first_and_second
from smemviz.engines.lockstep.ptx.compiled.state_ir import BIT, LONG, POINTER, WORD, NotCompiledError, constant, vector
from smemviz.engines.lockstep.ptx.instructions.copies import source_size
from smemviz.engines.lockstep.ptx.instructions.loads import space_of
from smemviz.engines.lockstep.ptx.memory import SHARED_WINDOW, WINDOWS

_SPACES = {
    "global": s.GLOBAL,
    "const": s.GLOBAL,
    "shared": s.SHARED_SPACE,
    "local": s.LOCAL_SPACE,
    "generic": s.GENERIC,
}
_UPDATES = {
    "add": s.ADD,
    "min": s.MIN,
    "max": s.MAX,
    "exch": s.EXCHANGE,
    "cas": s.SWAP,
    "inc": s.INCREMENT,
    "dec": s.DECREMENT,
    "and": s.AND,
    "or": s.OR,
    "xor": s.XOR,
}
_TYPES = {"u": s.UNSIGNED, "i": s.SIGNED, "f": s.FLOAT}


def _operation(
    e: Emitter,
    kind: int,
    space: str,
    width: int,
    count: int,
    site: int | None,
    update: int = s.NO_UPDATE,
    type_: int = 0,
) -> Operation:
    """Return an access; ``site`` is an index of the kernel's memory, None for what is no request."""
    strong = site is not None and e.kernel.memory[site].strong
    raw = -1 if site is None else site
    return [kind, _SPACES[space], width, count, raw, raw, update, type_, int(strong)]


def _site(e: Emitter, instruction: Instruction, number: int = 0) -> int | None:
    sites = e.kernel.sites_of(instruction)
    return sites[number] if number < len(sites) else None


def _parameter(e: Emitter, name: str, offset: int, kind: str) -> Any:
    """Return a part of a parameter of the kernel."""
    place = e.place(e.b.inttoptr(e.in_table("parameter", name), POINTER), offset)
    return e.splat(e.b.load(place, typ=ir.IntType(8 * SIZES[kind]), align=1))


def _load(e: Emitter, instruction: Instruction) -> None:
    kind = {"f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32"}.get(instruction.type, instruction.type)
    space, source = space_of(instruction), instruction.operands[1]
    to = items_of(instruction.operands[0])
    width = SIZES[kind]
    if space == "param":
        if isinstance(source, Register | Symbol):
            e.write(to[0], kind, e.read(source, kind))
            return
        base = source.base if isinstance(source, Address) else None
        if isinstance(base, Symbol) and base.name not in e.kernel.local:
            assert isinstance(source, Address)
            for number, item in enumerate(to):
                e.write(item, kind, _parameter(e, base.name, source.offset + number * width, kind))
            return
        space = "local" if isinstance(base, Symbol) else "global"
    e.access(_operation(e, s.LOAD, space, width, len(to), _site(e, instruction)), e.address(source))
    for number, item in enumerate(to):
        e.write(item, kind, e.loaded(number, width))


def _store(e: Emitter, instruction: Instruction) -> None:
    width, space = SIZES[instruction.type], space_of(instruction)
    space = "local" if space == "param" else space
    values = [e.read(item, f"b{8 * width}") for item in items_of(instruction.operands[1])]
    operation = _operation(e, s.STORE, space, width, len(values), _site(e, instruction))
    e.access(operation, e.address(instruction.operands[0]), values)


def _atomic(e: Emitter, instruction: Instruction) -> None:
    kind = instruction.type
    name = instruction.one_of(*_UPDATES)
    if kind in ("f16", "f16x2", "bf16", "bf16x2", "b128") or isinstance(instruction.operands[-1], Group):
        raise NotCompiledError(instruction.text)
    if instruction.has("async", "mbarrier", "release", "acq_rel"):
        raise NotCompiledError(instruction.text)
    dtype, width = DTYPES[kind], SIZES[kind]
    reduces = instruction.opcode == "red"
    operands = instruction.operands if reduces else instruction.operands[1:]
    bits = f"b{8 * width}"
    values = [e.read(operand, bits) for operand in operands[1:]]
    if dtype.kind == "f" and name not in ("add", "exch", "min", "max"):
        raise NotCompiledError(instruction.text)
    operation = _operation(
        e, s.CHANGE, space_of(instruction), width, 1, _site(e, instruction), _UPDATES[name], _TYPES[dtype.kind]
    )
    e.access(operation, e.address(operands[0]), values[:1], values[1] if len(values) > 1 else None)
    if not reduces:
        e.write(instruction.operands[0], bits, e.loaded(0, width))


def _copy(e: Emitter, instruction: Instruction) -> None:
    """Copy from global to shared memory at once."""
    if instruction.has("commit_group", "wait_group", "wait_all") and not instruction.has("reduce"):
        return
    size = instruction.operands[2] if len(instruction.operands) > 2 else None
    is_plain = instruction.has("async") and not instruction.has("bulk", "reduce", "mbarrier")
    if not is_plain or not isinstance(size, Number):
        raise NotCompiledError(instruction.text)
    pieces = size.value // 4
    loads, stores = _site(e, instruction), _site(e, instruction, 1)
    to, source = e.address(instruction.operands[0]), e.address(instruction.operands[1])
    guard = e.guard
    used = source_size(instruction)
    if isinstance(used, Register) and e.kernel.registers[used.name] == "pred":
        reads = e.b.not_(e.read(used, "pred"))
    elif used is not None:
        its_size = e.read(used, "u32")
        reads = e.b.icmp_unsigned(">=", its_size, constant(WORD, size.value))
        _expect(e, e.b.or_(reads, e.b.icmp_unsigned("==", its_size, constant(WORD, 0))))  # or it reads a part
    else:
        reads = None
    if reads is not None:
        e.guard = reads if guard is None else e.b.and_(reads, guard)
    e.access(_operation(e, s.LOAD, "global", 4, pieces, loads), source)
    e.guard = guard
    values = [e.loaded(number, 4) for number in range(pieces)]
    if reads is not None:
        values = [e.b.select(reads, value, constant(WORD, 0)) for value in values]
    e.access(_operation(e, s.STORE, "shared", 4, pieces, stores), to, values)


def _expect(e: Emitter, test: Any) -> None:
    """Leave what is not so for every lane that runs to the machine in ``ptx.machine``."""
    odd = e.b.and_(e.b.bitcast(e.b.not_(test), WORD), e.running)
    fine = e.function.append_basic_block("fine")
    e.b.cbranch(e.b.icmp_unsigned("==", odd, WORD(0)), fine, e.suspect)
    e.b.position_at_end(fine)


def _convert_address(e: Emitter, instruction: Instruction) -> None:
    kind = instruction.type
    value = e.read(instruction.operands[1], kind)
    window = WINDOWS.get(space_of(instruction), 0) & (1 << 8 * SIZES[kind]) - 1
    if window:
        value = (e.b.sub if instruction.has("to") else e.b.add)(value, constant(value.type, window))
    e.write(instruction.operands[0], kind, value)


def _is_in_space(e: Emitter, instruction: Instruction) -> None:
    space = instruction.words[1].partition("::")[0]
    value = e.read(instruction.operands[1], "u64")

    def inside(start: int) -> Any:
        above = e.b.icmp_unsigned(">=", value, constant(LONG, start))
        return e.b.and_(above, e.b.icmp_unsigned("<", value, constant(LONG, start + SHARED_WINDOW)))

    if space in ("shared", "local"):
        result = inside(WINDOWS[space])
    else:
        result = e.b.not_(e.b.or_(inside(WINDOWS["shared"]), inside(WINDOWS["local"])))
    e.write(instruction.operands[0], "pred", result)


def _nothing(e: Emitter, instruction: Instruction) -> None:
    """Orders memory, or only hints; where that matters, requests are suspect."""


# -- lanes of a warp


def _lanes() -> Any:
    return ir.Constant(vector(WORD), list(range(32)))


def _shuffle(e: Emitter, instruction: Instruction) -> None:
    mode = instruction.one_of("up", "down", "bfly", "idx")
    to, is_inside = first_and_second(instruction.operands[0])
    value, by, limits = (e.read(operand, "b32") for operand in instruction.operands[1:4])
    b, lanes = e.b, _lanes()

    def number(value: int) -> Any:
        return constant(WORD, value)

    step = b.and_(by, number(31))
    segment, clamp = b.and_(b.lshr(limits, number(8)), number(31)), b.and_(limits, number(31))
    first = b.and_(lanes, segment)
    last = b.or_(first, b.and_(clamp, b.not_(segment)))
    if mode == "up":
        source = b.sub(lanes, step)
        inside = b.icmp_signed(">=", source, last)
    else:
        if mode == "idx":
            source = b.or_(first, b.and_(step, b.not_(segment)))
        else:
            source = b.add(lanes, step) if mode == "down" else b.xor(lanes, step)
        inside = b.icmp_signed("<=", source, last)
    source = b.select(inside, source, lanes)
    here = b.bitcast(e.running, vector("pred"))
    e.write(to, "b32", e.permuted(b.select(here, value, number(0)), source))
    if is_inside is not None:
        e.write(is_inside, "pred", inside)


def _vote(e: Emitter, instruction: Instruction) -> None:
    mode = instruction.one_of("ballot", "any", "all", "uni")
    test = e.read(instruction.operands[1], "pred")
    members = e.read(instruction.operands[-1], "u32") if instruction.has("sync") else constant(WORD, 0xFFFFFFFF)
    there = e.b.and_(e.splat(e.running), members)
    yes = e.b.and_(e.splat(e.b.and_(e.b.bitcast(test, WORD), e.running)), members)
    none = e.b.icmp_unsigned("==", yes, constant(WORD, 0))
    everyone = e.b.icmp_unsigned("==", yes, there)
    result = {"ballot": yes, "any": e.b.not_(none), "all": everyone, "uni": e.b.or_(none, everyone)}[mode]
    e.write(instruction.operands[0], "b32" if mode == "ballot" else "pred", result)


def _active_mask(e: Emitter, instruction: Instruction) -> None:
    e.write(instruction.operands[0], "b32", e.splat(e.running))


def _match(e: Emitter, instruction: Instruction) -> None:
    if instruction.one_of("any", "all") == "all":
        raise NotCompiledError(instruction.text)
    value = e.read(instruction.operands[1], instruction.type)
    e.write(instruction.operands[0], "b32", e.matched(value))


def _left(e: Emitter, instruction: Instruction) -> None:
    """Leave a launch in which any thread comes here, to print or to fail, to the machine in ``ptx.machine``."""
    _expect(e, constant(BIT, 0))


_EVERYONE = 0xFFFFFFFF
_NEUTRAL = {"add": 0, "or": 0, "xor": 0, "and": _EVERYONE}
_NEUTRAL_OF_EXTREMES = {"umin": _EVERYONE, "umax": 0, "smin": 0x7FFFFFFF, "smax": 0x80000000}


def _reduce(e: Emitter, instruction: Instruction) -> None:
    name, kind = instruction.one_of("add", "min", "max", "and", "or", "xor"), instruction.type
    members = e.read(instruction.operands[2], "b32")
    if kind[0] == "f":
        raise NotCompiledError(instruction.text)
    absent = e.b.and_(e.b.not_(members), e.splat(e.running))
    _expect(e, e.b.icmp_unsigned("==", absent, constant(WORD, 0)))
    name = f"{'s' if kind[0] == 's' else 'u'}{name}" if name in ("min", "max") else name
    value = e.read(instruction.operands[1], kind)
    neutral = constant(WORD, (_NEUTRAL | _NEUTRAL_OF_EXTREMES)[name])
    here = e.b.bitcast(e.running, vector("pred"))
    e.write(instruction.operands[0], kind, e.splat(e.reduced(name, e.b.select(here, value, neutral))))


def _elect(e: Emitter, instruction: Instruction) -> None:
    to, chosen = first_and_second(instruction.operands[0])
    lowest = e.b.and_(e.running, e.b.neg(e.running))
    if chosen is not None:
        raise NotCompiledError(instruction.text)
    e.write(to, "pred", e.b.bitcast(lowest, vector("pred")))


ACCESSES: dict[str, Emit] = {
    **dict.fromkeys(("ld", "ldu"), _load),
    "st": _store,
    **dict.fromkeys(("atom", "red"), _atomic),
    "cp": _copy,
    "cvta": _convert_address,
    "isspacep": _is_in_space,
    **dict.fromkeys(("membar", "fence", "nanosleep", "prefetch", "prefetchu", "discard"), _nothing),
    **dict.fromkeys(("applypriority", "createpolicy", "griddepcontrol", "setmaxnreg", "pmevent", "brkpt"), _nothing),
    "shfl": _shuffle,
    "vote": _vote,
    "activemask": _active_mask,
    "match": _match,
    "redux": _reduce,
    "elect": _elect,
    **dict.fromkeys(("vprintf", "__assertfail"), _left),
}
