"""Which global memory a launch may write, as the text of its entry tells: loads of the rest cannot race."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.watched import Watched
from smemviz.engines.lockstep.ptx.code.module import SIZES, Address, Instruction, Register, Symbol, leaves
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.memory import GlobalMemory
from smemviz.recordings.data import ArrayInfo

_WRITING = ("st", "atom", "red")
_POINTER_BYTES = 8


def watched_allocations(
    kernel: Kernel,
    memory: GlobalMemory,
    parameters: Mapping[str, NDArray[np.uint8]],
    symbols: Mapping[str, int],
    arrays: Sequence[ArrayInfo],
    threads: int,
) -> dict[int, Watched]:
    """Return the allocations that a launch may write, by their numbers; all of them where the text does not tell."""
    narrowest = min((instruction.width for instruction in kernel.memory if instruction.space != "shared"), default=1)
    watched = {}
    for number in sorted(written_allocations(kernel, memory, parameters, symbols)):
        allocation = memory.allocations[number]
        inside = [
            array
            for array in arrays
            if allocation.start <= array.address < allocation.start + max(1, allocation.nbytes)
        ]
        if not inside:
            words = (allocation.nbytes // narrowest,)
            inside = [ArrayInfo(allocation.name, "global", words, (narrowest,), f"u{narrowest}", allocation.start, 1)]
        watched[number] = Watched(allocation.data, allocation.start, narrowest, inside, threads)
    return watched


def written_allocations(
    kernel: Kernel, memory: GlobalMemory, parameters: Mapping[str, NDArray[np.uint8]], symbols: Mapping[str, int]
) -> set[int]:
    """Return the numbers of the allocations that a launch may write, of all of them where the text does not tell."""
    starts = {allocation.start: number for number, allocation in enumerate(memory.allocations)}
    pointing = {name: {starts[at]} for name, at in symbols.items() if at in starts and name not in parameters}
    for name, data in parameters.items():
        pointers = data[: len(data) // _POINTER_BYTES * _POINTER_BYTES].view(np.uint64)
        held = (memory.holding(int(pointer), int(pointer)) for pointer in pointers)
        pointing[name] = {starts[allocation.start] for allocation in held if allocation is not None}
    return _written(kernel, pointing, set(starts.values()))


def _written(kernel: Kernel, pointing: Mapping[str, set[int]], everything: set[int]) -> set[int]:
    """Return the numbers of the allocations that an entry may write."""
    origins = _origins(kernel.body)
    written: set[int] = set()
    for instruction in kernel.body:
        if not (instruction.opcode in _WRITING or instruction.has("store")) or instruction.has(
            "shared", "local", "param"
        ):
            continue
        for operand in instruction.operands:
            if isinstance(operand, Address):
                base = operand.base
                names = {base.name} if isinstance(base, Symbol) else set()
                names |= origins.get(base.name, set()) if isinstance(base, Register) else set()
                if any(name in kernel.local or name in {v.name for v in kernel.shared} for name in names):
                    continue
                numbers = {number for name in names for number in pointing.get(name, ())}
                if not numbers:
                    return everything
                written |= numbers
    return written


def _origins(body: Sequence[Instruction]) -> dict[str, set[str]]:
    """Return the parameters and variables that the values of registers may be made of."""
    origins: dict[str, set[str]] = {}
    changed = True
    while changed:
        changed = False
        for instruction in body:
            if not instruction.operands or instruction.opcode in _WRITING:
                continue
            into = [leaf.name for leaf in leaves(instruction.operands[0]) if isinstance(leaf, Register)]
            sources = _made_of(instruction, origins)
            for name in into:
                known = origins.setdefault(name, set())
                if not sources <= known:
                    known |= sources
                    changed = True
    return origins


def _made_of(instruction: Instruction, origins: Mapping[str, set[str]]) -> set[str]:
    """Return what an instruction's result may be made of; what it loads from memory is not known."""
    if instruction.opcode in ("ld", "ldu") and not instruction.has("param"):
        return set()
    if instruction.opcode in ("ld", "ldu") and SIZES.get(instruction.type, 0) < _POINTER_BYTES:
        return set()
    sources: set[str] = set()
    for operand in instruction.operands[1:]:
        for leaf in leaves(operand):
            sources |= {leaf.name} if isinstance(leaf, Symbol) else set()
            sources |= origins.get(leaf.name, set()) if isinstance(leaf, Register) else set()
    return sources
