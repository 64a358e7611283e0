"""What the lanes of a warp do together: shuffles, votes, matches, reductions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.code.module import DTYPES, Instruction, Pair, PtxError
from smemviz.engines.lockstep.ptx.instructions.arithmetic import Family
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.registers import Action, read, write

_LANES = np.arange(32)
_BITS = np.uint32(1) << np.arange(32, dtype=np.uint32)


def _active(m: Machine) -> NDArray[np.bool_]:
    return m.in_warps(np.bool_(True) if m.lanes is None else np.ones(m.active, np.bool_), False)


def _words(flags: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Return one 32-bit word for each warp, (warps, 1)."""
    return np.packbits(flags, axis=1, bitorder="little").view("<u4")


def _one_each(m: Machine, value: Any) -> Any:
    """Return a value in a form that ``in_warps`` takes."""
    return value if m.lanes is None or value.ndim else np.full(m.active, value)


def _shuffle(kernel: Kernel, instruction: Instruction) -> Action:
    mode = instruction.one_of("up", "down", "bfly", "idx")
    to = instruction.operands[0]
    put = write(kernel, to.first if isinstance(to, Pair) else to, "b32")
    put_inside = write(kernel, to.second, "pred") if isinstance(to, Pair) else None
    value, by, limits = (read(kernel, operand, "b32") for operand in instruction.operands[1:4])

    def run(m: Machine) -> None:
        values = m.in_warps(_one_each(m, value(m)), 0)
        step = m.in_warps(_one_each(m, by(m)), 0).astype(np.int64) & 31
        limit = m.in_warps(_one_each(m, limits(m)), 0).astype(np.int64)
        segment, clamp = (limit >> 8) & 31, limit & 31
        first = _LANES & segment
        last = first | (clamp & ~segment)
        if mode == "up":
            source = _LANES - step
            inside = source >= last
        else:
            source = {"down": _LANES + step, "bfly": _LANES ^ step, "idx": first | (step & ~segment)}[mode]
            inside = source <= last
        source = np.where(inside, source, _LANES)
        put(m, m.from_warps(np.take_along_axis(values, source, axis=1)).copy())
        if put_inside:
            put_inside(m, m.from_warps(inside).copy())

    return run


def _vote(kernel: Kernel, instruction: Instruction) -> Action:
    mode = instruction.one_of("ballot", "any", "all", "uni")
    test, members = read(kernel, instruction.operands[1], "pred"), read(kernel, instruction.operands[-1], "u32")
    put = write(kernel, instruction.operands[0], "b32" if mode == "ballot" else "pred")
    synchronous = instruction.has("sync")

    def run(m: Machine) -> None:
        membermask = m.in_warps(_one_each(m, members(m)), 0) if synchronous else np.uint32(0xFFFFFFFF)
        yes = _words(m.in_warps(_one_each(m, test(m)), False)) & membermask
        there = _words(_active(m)) & membermask
        result = {"ballot": yes, "any": yes != 0, "all": yes == there, "uni": (yes == 0) | (yes == there)}[mode]
        put(m, m.from_warps(result).copy())

    return run


def _active_mask(kernel: Kernel, instruction: Instruction) -> Action:
    put = write(kernel, instruction.operands[0], "b32")
    return lambda m: put(m, m.from_warps(_words(_active(m))).copy())


def _elect(kernel: Kernel, instruction: Instruction) -> Action:
    to = instruction.operands[0]
    put = write(kernel, to.first, "b32") if isinstance(to, Pair) else None
    put_chosen = write(kernel, to.second if isinstance(to, Pair) else to, "pred")

    def run(m: Machine) -> None:
        first = np.argmax(_active(m), axis=1)[:, None]
        if put:
            put(m, m.from_warps(first.astype(np.uint32)).copy())
        put_chosen(m, m.from_warps(first == _LANES).copy())

    return run


def _match(kernel: Kernel, instruction: Instruction) -> Action:
    to, kind = instruction.operands[0], instruction.type
    put = write(kernel, to.first if isinstance(to, Pair) else to, "b32")
    put_all = write(kernel, to.second, "pred") if isinstance(to, Pair) else None
    value, everyone = read(kernel, instruction.operands[1], kind), instruction.one_of("any", "all") == "all"

    def run(m: Machine) -> None:
        values, there = m.in_warps(_one_each(m, value(m)), 0), _active(m)
        same = (values[:, :, None] == values[:, None, :]) & there[:, None, :]
        words = (same * _BITS).sum(-1).astype(np.uint32)
        if everyone:
            all_same = words == _words(there)
            words = np.where(all_same, words, np.uint32(0))
            if put_all:
                put_all(m, m.from_warps(all_same).copy())
        put(m, m.from_warps(words).copy())

    return run


def _reduce(kernel: Kernel, instruction: Instruction) -> Action:
    name, kind = instruction.one_of("add", "min", "max", "and", "or", "xor"), instruction.type
    dtype = DTYPES[kind]
    if dtype.kind == "f":
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    limits = np.iinfo(dtype)
    rules: dict[str, tuple[np.ufunc, int]] = {
        "add": (np.add, 0),
        "or": (np.bitwise_or, 0),
        "xor": (np.bitwise_xor, 0),
        "and": (np.bitwise_and, -1 if dtype.kind == "i" else int(limits.max)),
        "min": (np.minimum, int(limits.max)),
        "max": (np.maximum, int(limits.min)),
    }
    function, neutral = rules[name]
    value, members = read(kernel, instruction.operands[1], kind), read(kernel, instruction.operands[2], "u32")
    put = write(kernel, instruction.operands[0], kind)

    def run(m: Machine) -> None:
        values = m.in_warps(_one_each(m, value(m)), neutral)
        membermask = m.in_warps(_one_each(m, members(m)), 0)
        if m.lanes is None and bool((membermask == 0xFFFFFFFF).all()):
            result = function.reduce(values, axis=1, keepdims=True)
        else:  # groups of a warp reduce apart
            inside = ((membermask[:, :, None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)).astype(bool)
            result = function.reduce(np.where(inside, values[:, None, :], dtype.type(neutral)), axis=2)
        put(m, m.from_warps(result.astype(dtype)).copy())

    return run


FAMILY: Family = {
    "shfl": _shuffle,
    "vote": _vote,
    "activemask": _active_mask,
    "elect": _elect,
    "match": _match,
    "redux": _reduce,
}
