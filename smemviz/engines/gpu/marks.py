"""The device functions that make the accesses of a kernel and mark each in the PTX, for ``ptx.accesses`` to find.

A mark is an instruction that there is not: ``smemviz_access.shared 3, [%r1], %fd2;`` says that site 3 is about to be
made, at this address, and that this is what is stored. It stands where the access stands, whatever the compiler makes
of the loads and stores themselves. The address is the real one: where the element is, not where its index says it
should be.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cuda
from numba.cuda.cudadrv import nvvm
from numba.cuda.extending import intrinsic
from numba.cuda.np import arrayobj

from smemviz.engines.gpu.ptx.accesses import ACCESS, ARRAY
from smemviz.engines.lockstep.machine_code.accessors import (
    LONG,
    VOID,
    WORD,
    Kind,
    asm,
    device_functions,
    element_type,
    indices_of,
    inlined,
)
from smemviz.frontends.numba.sites.site_arrays import CACHE_HINTS
from smemviz.recordings.data import Site

_ATOMICS = {"and": "and_", "or": "or_"}

# Numba types ``cuda.atomic.add`` only where it stands as written, so these are written for each function.
_ACCESS = """
def access(number, array, {parameters}):
    mark(number, array, {index}, {stored})
    {made}
"""


def shared_offset(builder: Any, pointer: Any, integer: Any) -> Any:
    """Return where a pointer to shared memory points to: its byte offset in the shared window of the block."""
    shared = ir.PointerType(pointer.type.pointee, nvvm.ADDRSPACE_SHARED)
    return builder.ptrtoint(builder.addrspacecast(pointer, shared), integer)


def _mark(kind: Kind, pieces: int) -> Any:
    """Build the intrinsic that marks an access, or each byte of one in pieces."""
    is_shared = kind.space == "shared"
    has_value = is_shared and kind.op == "store" and np.dtype(kind.dtype).kind != "c"
    constraints = ",".join(("n", "r" if is_shared else "l", *(["d"] if has_value else [])))
    text = f"{ACCESS}.{kind.space} $0, [$1]{', $2' if has_value else ''};"

    @intrinsic  # type: ignore[untyped-decorator]
    def mark(typing_context: Any, number: Any, array: Any, index: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
            given = arrayobj.make_array(array)(context, builder, arguments[1])
            types, indices = indices_of(context, builder, index, arguments[2])
            pointer = arrayobj.basic_indexing(context, builder, array, given, types, indices)[0]
            address = shared_offset(builder, pointer, WORD) if is_shared else builder.ptrtoint(pointer, LONG)
            offset = array.dtype.offset(kind.field) if kind.field else 0
            element = element_type(array, kind)
            stored = context.cast(builder, arguments[3], value, element) if has_value else None
            for byte in range(pieces):
                operands = [arguments[0], builder.add(address, address.type(offset + byte))]
                if has_value and pieces == 1:
                    operands.append(context.cast(builder, stored, element, cuda.types.float64))
                elif has_value:
                    operands.append(_byte_of(builder, stored, byte, pieces))
                asm(builder, text, constraints, VOID, operands)
            return context.get_dummy_value()

        return cuda.types.void(cuda.types.int64, array, index, value), generate

    return mark


def _byte_of(builder: Any, value: Any, byte: int, size: int) -> Any:
    integer = ir.IntType(8 * size)
    bits = value if value.type == integer else builder.bitcast(value, integer)
    return builder.uitofp(builder.trunc(builder.lshr(bits, integer(8 * byte)), ir.IntType(8)), ir.DoubleType())


@cache
def _built(action: str, kind: Kind) -> Any:
    """Build the function that marks an access and makes it."""
    element = f"array[index][{kind.field!r}]" if kind.field else "array[index]"
    index, parameters, pieces = "index", "index, value", 1
    match action:
        case "load":
            parameters, made, pieces = "index", f"return {element}", kind.pieces
        case "store":
            made, pieces = f"{element} = value", kind.pieces
        case "swap":
            index, parameters, made = "0", "old, value", "return cuda.atomic.compare_and_swap(array, old, value)"
        case "atomic":
            name = "add" if kind.op == "reduce_inc" else kind.op.partition("_")[2]
            parameters = "index, old, value" if name == "cas" else parameters
            made = f"return cuda.atomic.{_ATOMICS.get(name, name)}(array, {parameters})"
        case hint:
            parameters = "index" if CACHE_HINTS[hint] == "load" else parameters
            made = f"return cuda.{hint}(array, {parameters})"
    stored = "value" if "value" in parameters else "None"
    namespace = {"cuda": cuda, "mark": _mark(kind, pieces)}
    exec(_ACCESS.format(parameters=parameters, index=index, stored=stored, made=made), namespace)
    return inlined(namespace["access"])


@intrinsic  # type: ignore[untyped-decorator]
def _declare(typing_context: Any, number: Any, array: Any) -> Any:
    """Mark where a shared array begins, and hand the array on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        start = arrayobj.make_array(array)(context, builder, arguments[1]).data
        asm(builder, f"{ARRAY} $0, $1;", "n,l", VOID, (arguments[0], shared_offset(builder, start, LONG)))
        return arguments[1]

    return array(cuda.types.int64, array), generate


def marking_functions(sites: Sequence[Site]) -> dict[str, Any]:
    """Return every device function that the instrumented kernels of these sites may call, by name."""
    return device_functions(sites, _declare, _built)
