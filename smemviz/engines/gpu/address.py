"""Where an element is: the real address, as Numba computes it and as the hardware sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import cuda
from numba.cuda.cudadrv import nvvm
from numba.cuda.extending import intrinsic
from numba.cuda.np import arrayobj


@intrinsic  # type: ignore[untyped-decorator]
def element_address(typing_context: Any, array: Any, index: Any) -> Any:
    """Return the generic address of an element, as Numba itself computes it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        return builder.ptrtoint(_element(context, builder, signature, arguments), ir.IntType(64))

    return cuda.types.int64(array, index), generate


@intrinsic  # type: ignore[untyped-decorator]
def element_offset(typing_context: Any, array: Any, index: Any) -> Any:
    """Return where an element of a shared array is: its byte offset in the shared window of the block."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        return _offset(builder, _element(context, builder, signature, arguments), ir.IntType(32))

    return cuda.types.uint32(array, index), generate


def field_address(name: str, shared: bool) -> Any:
    """Build the intrinsic that returns where a field of a record in an array is, as the two above do for elements."""
    kind, width = (cuda.types.uint32, 32) if shared else (cuda.types.int64, 64)

    @intrinsic  # type: ignore[untyped-decorator]
    def address(typing_context: Any, array: Any, index: Any) -> Any:
        offset = array.dtype.offset(name)

        def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
            integer = ir.IntType(width)
            pointer = _element(context, builder, signature, arguments)
            start = _offset(builder, pointer, integer) if shared else builder.ptrtoint(pointer, integer)
            return builder.add(start, integer(offset))

        return kind(array, index), generate

    return address


def _element(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
    array_type, index_type = signature.args
    value = arrayobj.make_array(array_type)(context, builder, arguments[0])
    if isinstance(index_type, cuda.types.BaseTuple):
        types = tuple(index_type)
        indices = cuda.cgutils.unpack_tuple(builder, arguments[1], len(types))
    else:
        types, indices = (index_type,), [arguments[1]]
    types, indices = arrayobj.normalize_indices(context, builder, types, indices)
    return arrayobj.basic_indexing(context, builder, array_type, value, types, indices)[0]


def _offset(builder: Any, pointer: Any, integer: Any) -> Any:
    shared = ir.PointerType(pointer.type.pointee, nvvm.ADDRSPACE_SHARED)
    return builder.ptrtoint(builder.addrspacecast(pointer, shared), integer)


@intrinsic  # type: ignore[untyped-decorator]
def array_offset(typing_context: Any, array: Any) -> Any:
    """Return where a shared array begins: its byte offset in the shared window of the block."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        value = arrayobj.make_array(signature.args[0])(context, builder, arguments[0])
        return _offset(builder, value.data, ir.IntType(64))

    return cuda.types.int64(array), generate
