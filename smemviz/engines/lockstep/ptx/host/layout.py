"""Where the shared arrays of an entry lie, and which global memory it may write: loads of the rest cannot race."""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.hazards.watched import Watched
from smemviz.engines.lockstep.memory.memory import c_strides
from smemviz.engines.lockstep.memory.shared import WINDOW_START, SharedLayout
from smemviz.engines.lockstep.ptx.code.module import SIZES, Address, Instruction, Register, Symbol, Variable, leaves
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.memory import GlobalMemory
from smemviz.frontends.cuda.shapes import SharedDeclaration, SharedPiece
from smemviz.recordings.data import ArrayInfo

_DYNAMIC_ALIGNMENT = 16
_NUMBER = re.compile(r"(\d+)")
# Numbers in a mangled name that are no length of a name: values of template arguments, what is named again, sizes.
_VALUE = re.compile(r"L[a-z]n?[0-9a-f]+E|[ST][0-9A-Z]*_|A\d+_")
_ENUMERATOR = re.compile(r"n?\d+E")


def place_shared(kernel: Kernel, entry: Entry, dynamic: int) -> tuple[SharedLayout, dict[str, int]]:
    """Place static variables in their order, each aligned, and dynamic memory after them, as an H200 has them.

    Returns the layout, and the address of each variable.
    """
    end = WINDOW_START
    symbols = {}
    for variable in kernel.shared:
        if not variable.dynamic:
            end = -(-end // variable.alignment) * variable.alignment
            symbols[variable.name] = end
            end += variable.size
    static = end - WINDOW_START
    unit = max([_DYNAMIC_ALIGNMENT, *(variable.alignment for variable in kernel.shared if variable.dynamic)])
    base = -(-end // unit) * unit if dynamic else end
    symbols |= {variable.name: base for variable in kernel.shared if variable.dynamic}
    arrays = tuple(_piece(piece, base, entry.line) for piece in entry.compiled.pieces) or tuple(
        _array(variable, symbols[variable.name], variable.size or dynamic, entry) for variable in kernel.shared
    )
    nbytes = base + dynamic - WINDOW_START
    return SharedLayout(WINDOW_START, static, dynamic, nbytes, arrays), symbols


def _piece(piece: SharedPiece, base: int, line: int) -> ArrayInfo:
    """Return a piece of the dynamic shared memory of a kernel of Triton, defined at a line, as an array."""
    strides = tuple(step * np.dtype(piece.dtype).itemsize for step in c_strides(piece.shape))
    address = base + piece.offset
    return ArrayInfo(piece.name, "shared", piece.shape, strides, piece.dtype, address, piece.line or line, dynamic=True)


def _array(variable: Variable, address: int, nbytes: int, entry: Entry) -> ArrayInfo:
    name = identifiers(variable.name)[-1]
    declared = _declaration(variable, entry.compiled.shared, entry.symbol)
    if declared is None:
        shape: tuple[int, ...] = (nbytes // 4,) if nbytes % 4 == 0 else (nbytes,)
        dtype = np.dtype("uint32" if nbytes % 4 == 0 else "uint8")
        line = entry.line
    else:
        dtype = np.dtype(declared.element.dtype)
        shape, line = declared.shape(nbytes), declared.line
        name = declared.name
    strides = tuple(step * dtype.itemsize for step in c_strides(shape))
    return ArrayInfo(name, "shared", shape, strides, str(dtype), address, line, variable.dynamic)


def _declaration(
    variable: Variable, declarations: Iterable[SharedDeclaration], symbol: str
) -> SharedDeclaration | None:
    """Return the declaration of a variable: of the same name and size, in a function that its name holds."""
    *outer, name = identifiers(variable.name)
    matching = [
        declaration
        for declaration in declarations
        if declaration.name == name and (declaration.nbytes or 0) == variable.size
    ]
    inner = [declaration for declaration in matching if declaration.function in outer] or matching
    return next((declaration for declaration in inner if declaration.entry == symbol), inner[0] if inner else None)


def identifiers(symbol: str) -> list[str]:
    """Return the names that a mangled name is made of, in order; what is not mangled is itself."""
    if not symbol.startswith("_Z"):
        return [symbol]
    names, at = [], 2
    while at < len(symbol):
        value, match = _VALUE.match(symbol, at), _NUMBER.match(symbol, at)
        if value or match is None:
            at = value.end() if value else at + 1
            continue
        start, length = match.end(), int(match[1])
        if length == 0 or start + length > len(symbol):
            at = match.end()
            continue
        names.append(symbol[start : start + length])
        enumerator = _ENUMERATOR.match(symbol, start + length) if symbol[at - 1] == "L" else None
        at = enumerator.end() if enumerator else start + length
    return names or [symbol]


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
    origins = origins_of(kernel.body)
    written: set[int] = set()
    for instruction in kernel.body:
        if instruction.opcode == "cp" and instruction.has("bulk") and "global" in instruction.words[-4:]:
            return everything
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


def origins_of(body: Sequence[Instruction]) -> dict[str, set[str]]:
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
