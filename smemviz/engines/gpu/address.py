"""Where an element is: the real address, as Numba computes it and as the hardware sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import cuda
from numba.cuda.extending import intrinsic
from numba.cuda.np import arrayobj


@intrinsic  # type: ignore[untyped-decorator]
def element_address(typing_context: Any, array: Any, index: Any) -> Any:
    """Return the generic address of an element, as Numba itself computes it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        array_type, index_type = signature.args
        value = arrayobj.make_array(array_type)(context, builder, arguments[0])
        if isinstance(index_type, cuda.types.BaseTuple):
            types = tuple(index_type)
            indices = cuda.cgutils.unpack_tuple(builder, arguments[1], len(types))
        else:
            types, indices = (index_type,), [arguments[1]]
        types, indices = arrayobj.normalize_indices(context, builder, types, indices)
        pointer = arrayobj.basic_indexing(context, builder, array_type, value, types, indices)[0]
        return builder.ptrtoint(pointer, ir.IntType(64))

    return cuda.types.int64(array, index), generate


@intrinsic  # type: ignore[untyped-decorator]
def array_address(typing_context: Any, array: Any) -> Any:
    """Return the generic address of an array's first element."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        value = arrayobj.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(value.data, ir.IntType(64))

    return cuda.types.int64(array), generate


@intrinsic  # type: ignore[untyped-decorator]
def to_shared(typing_context: Any, address: Any) -> Any:
    """Turn a generic address into the byte offset in the shared window of the block."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        word = ir.IntType(64)
        assembly = ir.InlineAsm(ir.FunctionType(word, [word]), "cvta.to.shared.u64 $0, $1;", "=l,l")
        return builder.call(assembly, arguments)

    return cuda.types.int64(address), generate
