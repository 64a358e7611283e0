"""Where the shared arrays of an entry lie."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from smemviz.engines.lockstep.memory.memory import c_strides
from smemviz.engines.lockstep.memory.shared import WINDOW_START, SharedLayout
from smemviz.engines.lockstep.ptx.code.module import Variable
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.frontends.cuda.shapes import SharedDeclaration
from smemviz.recordings.data import ArrayInfo

_DYNAMIC_ALIGNMENT = 16
_NUMBER = re.compile(r"(\d+)")
# Numbers in a mangled name that are no length of a name: values of template arguments, what is named again, sizes.
_VALUE = re.compile(r"L[a-z]n?[0-9a-f]+E|[ST][0-9A-Z]*_|A\d+_")
_ENUMERATOR = re.compile(r"n?\d+E")


def place_shared(kernel: Kernel, entry: Entry, dynamic: int) -> tuple[SharedLayout, dict[str, int]]:
    """Place static variables in their order, each aligned, and dynamic memory after them.

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
    base = -(-end // _DYNAMIC_ALIGNMENT) * _DYNAMIC_ALIGNMENT if dynamic else end
    symbols |= {variable.name: base for variable in kernel.shared if variable.dynamic}
    arrays = tuple(
        _array(variable, symbols[variable.name], variable.size or dynamic, entry) for variable in kernel.shared
    )
    nbytes = base + dynamic - WINDOW_START
    return SharedLayout(WINDOW_START, static, dynamic, nbytes, arrays), symbols


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
