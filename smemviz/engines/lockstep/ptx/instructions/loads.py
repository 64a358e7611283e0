"""Loads, stores and atomics, and addresses of one memory in the terms of another.

The threads that update one element do so one after the other, in order of their number.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx import access
from smemviz.engines.lockstep.ptx.clusters import RANK_BIT
from smemviz.engines.lockstep.ptx.code.module import (
    DTYPES,
    SIZES,
    Address,
    Group,
    Instruction,
    Operand,
    PtxError,
    Register,
    Symbol,
    Value,
    items_of,
)
from smemviz.engines.lockstep.ptx.instructions.arithmetic import Family
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import Machine
from smemviz.engines.lockstep.ptx.memory import SPACES, WINDOWS, spaces
from smemviz.engines.lockstep.ptx.registers import Action, Read, Write, own, read, write
from smemviz.engines.lockstep.python.functions.atomics import ATOMICS, in_turn, swap_in_turn

RELEASING = ("release", "acq_rel")  # a fence comes before these
_BITS = {"f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32"}


def space_of(instruction: Instruction) -> str:
    """Return the memory that an instruction names, ``generic`` where it names none."""
    for word in instruction.words[1:]:
        space = word.partition("::")[0]
        if space in ("global", "shared", "local", "param", "const"):
            return space
    return "generic"


def address_of(kernel: Kernel, operand: Operand) -> Read:
    """Return what reads an address.

    Raises:
        PtxError: when the operand is none.
    """
    if not isinstance(operand, Address):
        raise PtxError(f"{operand} is no address")
    base, offset = operand.base, operand.offset
    if isinstance(base, Register):
        kind = f"s{8 * SIZES[kernel.registers[base.name]]}"
        register = read(kernel, base, kind)
        if not offset:
            return register
        moved = DTYPES[kind].type(offset)
        return lambda m: register(m) + moved
    if isinstance(base, Symbol):
        name = base.name
        return lambda m: np.int64(m.symbol(name) + offset)
    number = np.int64(base.value + offset)
    return lambda m: number


def dtype_name(kind: str) -> str:
    """Return NumPy's name of a type of PTX."""
    return str(DTYPES[kind].name)


def _parameter(kernel: Kernel, operand: Operand) -> str:
    """Return the parameter of the entry that an address names, empty where it is a variable in local memory."""
    base = operand.base if isinstance(operand, Address) else None
    return base.name if isinstance(base, Symbol) and base.name not in kernel.local else ""


def _load(kernel: Kernel, instruction: Instruction) -> Action:
    kind = _BITS.get(instruction.type, instruction.type)
    width, dtype, space = SIZES[kind], DTYPES[kind], space_of(instruction)
    puts = [write(kernel, destination, kind) for destination in items_of(instruction.operands[0])]
    if space == "param":
        if isinstance(instruction.operands[1], Register | Symbol):  # a parameter that is a register
            value = read(kernel, instruction.operands[1], kind)
            return lambda m: puts[0](m, own(value(m)))
        name = _parameter(kernel, instruction.operands[1])
        if name:
            if name not in {parameter.name for parameter in kernel.function.parameters}:
                raise PtxError(f"{name} is no parameter", instruction.place)
            offset = instruction.operands[1].offset if isinstance(instruction.operands[1], Address) else 0
            return _load_parameter(name, offset, width, dtype, puts)
        space = (
            "local"
            if isinstance(instruction.operands[1], Address) and isinstance(instruction.operands[1].base, Symbol)
            else "global"
        )
    where = address_of(kernel, instruction.operands[1])
    of_constant = space == "generic" and kernel.is_of_constant(instruction.operands[1])
    logged = space in ("shared", "global", "generic") and not instruction.has("param") and not of_constant
    site = kernel.memory_site(instruction, space, "load", width * len(puts), dtype_name(kind)) if logged else None
    space = "global" if space == "const" else space

    def run(m: Machine) -> None:
        for put, value in zip(puts, access.load(m, site, space, where(m), len(puts), width), strict=True):
            put(m, value.view(dtype))

    return run


def _load_parameter(name: str, offset: int, width: int, dtype: Any, puts: list[Write]) -> Action:
    def run(m: Machine) -> None:
        for number, put in enumerate(puts):
            start = offset + number * width
            put(m, m.parameters[name][start : start + width].view(dtype)[0])

    return run


def plain_store(kernel: Kernel, instruction: Instruction) -> Action:
    """Return what a store by the threads themselves does.

    Raises:
        PtxError: for one that is not executed.
    """
    if instruction.has("async", "bulk"):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    width, space = SIZES[instruction.type], space_of(instruction)
    values = [read(kernel, source, f"b{8 * width}") for source in items_of(instruction.operands[1])]
    if space == "param":
        space = "local"
    where = address_of(kernel, instruction.operands[0])
    logged = space in ("shared", "global", "generic")
    kind = _BITS.get(instruction.type, instruction.type)
    site = kernel.memory_site(instruction, space, "store", width * len(values), dtype_name(kind)) if logged else None
    releases = instruction.has(*RELEASING)

    def run(m: Machine) -> None:
        if releases:
            m.hazards.fence(m.mask)
        access.store(m, site, space, where(m), [value(m) for value in values], width)

    return run


def _convert_address(kernel: Kernel, instruction: Instruction) -> Action:
    space = space_of(instruction)
    value = read(kernel, instruction.operands[1], instruction.type)
    put = write(kernel, instruction.operands[0], instruction.type)
    window = DTYPES[instruction.type].type(WINDOWS.get(space, 0) & (1 << 8 * SIZES[instruction.type]) - 1)
    if space == "param" and SIZES[instruction.type] == 8:
        return lambda m: put(m, in_parameters(value(m), m))
    if not window:
        return lambda m: put(m, own(value(m)))
    if instruction.has("to"):
        return lambda m: put(m, value(m) - window)
    return lambda m: put(m, value(m) + window)


def in_parameters(address: Value, m: Machine) -> Value:
    """Return the address of a parameter, of which 32 bits are enough, as a generic one."""
    start = next((m.symbols[name] for name in m.parameters), 0)
    return np.where(address < 1 << 32, address | np.uint64(start & ~0xFFFFFFFF), address)[()]


def _is_in_space(kernel: Kernel, instruction: Instruction) -> Action:
    space = instruction.words[1].partition("::")[0]
    value, put = read(kernel, instruction.operands[1], "u64"), write(kernel, instruction.operands[0], "pred")
    number = SPACES.index("global" if space in ("const", "param") else space)
    return lambda m: put(m, (spaces(value(m).astype(np.int64)) == number)[()])


def _map_to_block(kernel: Kernel, instruction: Instruction) -> Action:
    """Return the action of ``mapa``: the same address in the memory of another block of the cluster."""
    put = write(kernel, instruction.operands[0], instruction.type)
    value, rank = read(kernel, instruction.operands[1], instruction.type), read(kernel, instruction.operands[2], "u32")
    kind = DTYPES[instruction.type].type
    others = kind(((1 << 8 * SIZES[instruction.type]) - 1) ^ (0xFF << RANK_BIT))

    def run(m: Machine) -> None:
        if m.cluster_size == 1:
            put(m, own(value(m)))
        else:
            put(m, (value(m) & others) | ((rank(m) + np.uint32(1)).astype(kind) << kind(RANK_BIT)))

    return run


def _rank_of_address(kernel: Kernel, instruction: Instruction) -> Action:
    put = write(kernel, instruction.operands[0], "u32")
    value = read(kernel, instruction.operands[1], instruction.type)

    def run(m: Machine) -> None:
        rank = (value(m).astype(np.int64) >> RANK_BIT) & 0xFF
        here = m.pick(m.special("cluster_ctarank")).astype(np.int64)
        put(m, np.where(rank > 0, rank - 1, here).astype(np.uint32)[()])

    return run


def _nothing(kernel: Kernel, instruction: Instruction) -> Action:
    return lambda m: None


def _alloca(kernel: Kernel, instruction: Instruction) -> Action:
    raise PtxError(f"{instruction.opcode} is not executed", instruction.place)


def _fence(kernel: Kernel, instruction: Instruction) -> Action:
    if instruction.has("proxy") and instruction.has("async"):
        return lambda m: m.pipelines.proxies.fence(np.unique(m.threads // m.shape[1])) if m.pipelines else None
    if instruction.has("proxy", "mbarrier_init"):
        return _nothing(kernel, instruction)
    of_block = instruction.has("cta")
    return lambda m: m.hazards.fence(m.mask, of_block=of_block)


FAMILY: Family = {
    **dict.fromkeys(("ld", "ldu"), _load),
    **dict.fromkeys(("membar", "fence"), _fence),
    "cvta": _convert_address,
    "isspacep": _is_in_space,
    "mapa": _map_to_block,
    "getctarank": _rank_of_address,
    "alloca": _alloca,
    **dict.fromkeys(
        (
            *("nanosleep", "prefetch", "prefetchu", "discard", "applypriority", "createpolicy"),
            *("griddepcontrol", "setmaxnreg", "pmevent", "brkpt"),
        ),
        _nothing,
    ),
}

_NAMES = ("add", "min", "max", "exch", "cas", "inc", "dec", "and", "or", "xor")
_OF_OTHERS = {"and": "and_", "or": "or_"}


def _atomic(kernel: Kernel, instruction: Instruction) -> Action:
    name, kind = instruction.one_of(*_NAMES), instruction.type
    if kind in ("f16", "f16x2", "bf16", "bf16x2", "b128") or isinstance(instruction.operands[-1], Group):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    if instruction.has("async", "mbarrier"):
        raise PtxError(f"{'.'.join(instruction.words)} is not executed", instruction.place)
    dtype, width = DTYPES[kind], SIZES[kind]
    returns = instruction.opcode == "atom" and kernel.is_read(instruction.operands[0])
    operands = instruction.operands if instruction.opcode == "red" else instruction.operands[1:]
    where = address_of(kernel, operands[0])
    values = [read(kernel, operand, kind) for operand in operands[1:]]
    put = write(kernel, instruction.operands[0], kind) if returns else None
    site = kernel.memory_site(
        instruction, space_of(instruction), _op(kernel, instruction, name, returns), width, dtype_name(kind)
    )
    space, change = space_of(instruction), _change(name, dtype, returns)

    releases = instruction.has(*RELEASING)

    def run(m: Machine) -> None:
        if releases:
            m.hazards.fence(m.mask)
        old = access.update(m, site, space, where(m), width, [value(m) for value in values], change)
        if put:
            put(m, old.view(dtype))

    return run


def _op(kernel: Kernel, instruction: Instruction, name: str, returns: bool) -> str:
    """Return what an atomic is called: a reduction returns nothing, and one that adds 1 is a count of its own."""
    if returns or name in ("exch", "cas"):
        return f"atomic_{name}"
    one_more = name == "add" and DTYPES[instruction.type].kind in "iu" and kernel.number(instruction.operands[-1]) == 1
    return "reduce_inc" if one_more and SIZES[instruction.type] == 4 else f"reduce_{name}"


def _change(name: str, dtype: Any, returns: bool) -> Callable[[Any, NDArray[np.int64], list[Any]], Any]:
    """Return what changes elements and returns the old ones."""
    rule = None if name == "cas" else ATOMICS[_OF_OTHERS.get(name, name)]
    is_number = dtype.kind == "f" and name in ("min", "max")

    def change(elements: Any, numbers: NDArray[np.int64], values: list[Any]) -> Any:
        typed, operands = elements.view(dtype), [np.ascontiguousarray(value).view(dtype) for value in values]
        if rule is None:
            old = swap_in_turn(typed, numbers, *operands)
        elif not returns and rule.at_once is not None and not is_number:
            rule.at_once.at(typed, numbers, operands[0])
            return 0
        else:
            old = in_turn(rule.update, typed, numbers, *operands)
        return old.view(elements.dtype)

    return change


UPDATES: Family = {**dict.fromkeys(("atom", "red"), _atomic)}
