"""The device functions that make the accesses of a kernel and mark each in the PTX, for ``ptx.marks`` to find.

A mark is an instruction that there is not: ``smemviz_access.shared 3, [%r1], %fd2;`` says that site 3 is about to be
made, at this address, and that this is what is stored. It stands where the access stands, whatever the compiler makes
of the loads and stores themselves. The address is the real one: where the element is, not where its index says it
should be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import cuda
from numba.cuda.cudadrv import nvvm
from numba.cuda.extending import intrinsic
from numba.cuda.np import arrayobj

from smemviz.engines.gpu.ptx.accesses import ACCESS, ARRAY, ROUND
from smemviz.engines.instrument import DECLARE, PREFIX, field_at, mark_name
from smemviz.engines.instrument import ROUND as ROUND_NAME
from smemviz.frontends.numba.sites.site_arrays import CACHE_HINTS
from smemviz.recordings.data import Site, Space


@intrinsic  # type: ignore[untyped-decorator]
def element_address(typing_context: Any, array: Any, index: Any) -> Any:
    """Return the generic address of an element, as Numba itself computes it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        return builder.ptrtoint(_element_pointer(context, builder, signature, arguments), ir.IntType(64))

    return cuda.types.int64(array, index), generate


@intrinsic  # type: ignore[untyped-decorator]
def element_offset(typing_context: Any, array: Any, index: Any) -> Any:
    """Return where an element of a shared array is: its byte offset in the shared window of the block."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        return _offset(builder, _element_pointer(context, builder, signature, arguments), ir.IntType(32))

    return cuda.types.uint32(array, index), generate


def field_address(name: str, shared: bool) -> Any:
    """Build the intrinsic that returns where a field of a record in an array is, as the two above do for elements."""
    kind, width = (cuda.types.uint32, 32) if shared else (cuda.types.int64, 64)

    @intrinsic  # type: ignore[untyped-decorator]
    def address(typing_context: Any, array: Any, index: Any) -> Any:
        offset = array.dtype.offset(name)

        def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
            integer = ir.IntType(width)
            pointer = _element_pointer(context, builder, signature, arguments)
            start = _offset(builder, pointer, integer) if shared else builder.ptrtoint(pointer, integer)
            return builder.add(start, integer(offset))

        return kind(array, index), generate

    return address


def _element_pointer(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
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


_ADDRESS_OF = {"shared": element_offset, "global": element_address}
_ATOMICS = {"and": "and_", "or": "or_"}

inlined = cuda.jit(device=True, forceinline=True)


def _mark(text: str, place: Any, *constraints: str, pieces: int = 1) -> Any:
    """Build the intrinsic that writes an instruction with a number and a place, an address of this type.

    It writes it for each of so many bytes where an element is accessed in pieces.
    """
    generate = _written(text, "n", *constraints)

    @intrinsic  # type: ignore[untyped-decorator]
    def mark(typing_context: Any, number: Any, address: Any) -> Any:
        return cuda.types.void(cuda.types.int64, place), _for_each_byte(generate, pieces)

    return mark


def _mark_stored(pieces: int) -> Any:
    """Build the intrinsic that marks a store in shared memory with what is stored, or each of its bytes with its own.

    It is given a float64, or of a store in pieces what is stored itself.
    """
    generate = _written(f"{ACCESS}.shared $0, [$1], $2;", "n", "r", "d")

    @intrinsic  # type: ignore[untyped-decorator]
    def mark(typing_context: Any, number: Any, address: Any, value: Any) -> Any:
        stored = cuda.types.float64 if pieces == 1 else value
        types = (cuda.types.int64, cuda.types.uint32, stored)
        return cuda.types.void(*types), _for_each_byte(generate, pieces)

    return mark


def _for_each_byte(generate: Callable[..., Any], pieces: int) -> Callable[..., Any]:
    """Return what writes an instruction for each byte from an address on, with the byte of what is stored."""
    if pieces == 1:
        return generate

    def generate_each(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        number, address, *stored = arguments
        for byte in range(pieces):
            values = [_byte_of(builder, value, byte, pieces) for value in stored]
            generate(context, builder, signature, (number, builder.add(address, address.type(byte)), *values))
        return context.get_dummy_value()

    return generate_each


def _byte_of(builder: Any, value: Any, byte: int, size: int) -> Any:
    integer = ir.IntType(8 * size)
    bits = value if value.type == integer else builder.bitcast(value, integer)
    return builder.uitofp(builder.trunc(builder.lshr(bits, integer(8 * byte)), ir.IntType(8)), ir.DoubleType())


def _written(text: str, *constraints: str, once: bool = False) -> Callable[..., Any]:
    """Return what writes an instruction into a kernel, its operands as the constraints say."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        function = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
        instruction = ir.InlineAsm(function, text, ",".join(constraints), side_effect=True)
        # As little as a barrier may it be copied to where only some lanes of a warp come.
        call = builder.call(instruction, arguments, attrs=("convergent",))
        if once:
            set.add(call.attributes, "noduplicate")  # LLVM knows it, llvmlite does not
        return context.get_dummy_value()

    return generate


@cache
def _mark_in(space: Space, pieces: int = 1) -> Any:
    if space == "shared":
        return _mark(f"{ACCESS}.shared $0, [$1];", cuda.types.uint32, "r", pieces=pieces)
    return _mark(f"{ACCESS}.global $0, [$1];", cuda.types.int64, "l", pieces=pieces)


@intrinsic  # type: ignore[untyped-decorator]
def _round(typing_context: Any) -> Any:
    """Mark a round of a loop, of which the compiler may not make copies."""
    return cuda.types.void(), _written(f"{ROUND};", once=True)


_mark_array = _mark(f"{ARRAY} $0, $1;", cuda.types.int64, "l")


class _Kind(NamedTuple):
    """What a device function depends on; sites that agree in it share one, so that it is compiled once."""

    space: Space
    op: str
    dtype: str
    pieces: int
    field: str


def _load(site: _Kind) -> Any:
    mark, address_of = _mark_in(site.space, site.pieces), _ADDRESS_OF[site.space]

    def load(number: Any, array: Any, index: Any) -> Any:
        mark(number, address_of(array, index))
        return array[index]

    return inlined(load)


def _store(site: _Kind) -> Any:
    mark, address_of = _mark_in(site.space, site.pieces), _ADDRESS_OF[site.space]
    cast, mark_stored, as_marked = _stored(site)

    def store_with_value(number: Any, array: Any, index: Any, value: Any) -> None:
        mark_stored(number, element_offset(array, index), as_marked(cast(value)))
        array[index] = value

    def store(number: Any, array: Any, index: Any, value: Any) -> None:
        mark(number, address_of(array, index))
        array[index] = value

    return inlined(store_with_value if _has_value(site) else store)


def _has_value(site: _Kind) -> bool:
    """Tell whether it is to be known what is stored."""
    return site.space == "shared" and np.dtype(site.dtype).kind != "c"


def _stored(site: _Kind) -> tuple[Any, Any, Any]:
    """Return the type of an element, what marks a store of one, and as what it is given that."""
    cast = numba.from_dtype(np.dtype(site.dtype))
    return cast, _mark_stored(site.pieces), numba.float64 if site.pieces == 1 else cast


_FIELD = {
    "load": """
def load(number, array, index):
    mark(number, address_of(array, index))
    return array[index][{name!r}]
""",
    "store": """
def store(number, array, index, value):
    mark(number, address_of(array, index){stored})
    array[index][{name!r}] = value
""",
}


def _field_of_record(action: str, site: _Kind) -> Any:
    mark = _mark_in(site.space, site.pieces)
    namespace = {"address_of": field_address(site.field, site.space == "shared"), "mark": mark}
    stored = ""
    if action == "store" and _has_value(site):
        namespace |= zip(("cast", "mark", "as_marked"), _stored(site), strict=True)
        stored = ", as_marked(cast(value))"
    exec(_FIELD[action].format(name=site.field, stored=stored), namespace)
    return inlined(namespace[action])


# Numba types ``cuda.atomic.add`` only where it stands as written, so these are written for each function.
_CALL = """
def call(number, array, {parameters}):
    mark(number, address_of(array, {index}))
    return cuda.{name}(array, {parameters})
"""


def _call(site: _Kind, name: str, parameters: str) -> Any:
    index = "index" if "index" in parameters else "0"
    namespace = {"cuda": cuda, "address_of": _ADDRESS_OF[site.space], "mark": _mark_in(site.space)}
    exec(_CALL.format(name=name, parameters=parameters, index=index), namespace)
    return inlined(namespace["call"])


def _atomic(site: _Kind) -> Any:
    name = "add" if site.op == "reduce_inc" else site.op.partition("_")[2]
    return _call(site, f"atomic.{_ATOMICS.get(name, name)}", "index, old, value" if name == "cas" else "index, value")


def _swap(site: _Kind) -> Any:
    return _call(site, "atomic.compare_and_swap", "old, value")


def _hinted(name: str) -> Callable[[_Kind], Any]:
    return lambda site: _call(site, name, "index" if CACHE_HINTS[name] == "load" else "index, value")


@inlined  # type: ignore[untyped-decorator]
def _declare(number: Any, array: Any) -> Any:
    """Mark where a shared array begins, and hand the array on."""
    _mark_array(number, array_offset(array))
    return array


_BUILDERS: dict[str, Callable[[_Kind], Any]] = {"load": _load, "store": _store, "atomic": _atomic, "swap": _swap}
_BUILDERS |= {name: _hinted(name) for name in CACHE_HINTS}


@cache
def _built(action: str, kind: _Kind) -> Any:
    return _field_of_record(action, kind) if kind.field else _BUILDERS[action](kind)


def marking_functions(sites: Sequence[Site]) -> dict[str, Any]:
    """Return every device function that the instrumented kernels of these sites may call, by name."""
    names: dict[str, Any] = {DECLARE: _declare, ROUND_NAME: _round, f"{PREFIX}int64": numba.int64}
    for site in sites:
        hints = [name for name, op in CACHE_HINTS.items() if op == site.op and site.space == "global"]
        actions = [site.op, *(hints if not field_at(site) else [])]
        for action in actions if site.op in ("load", "store") else ["atomic", "swap"]:
            kind = _Kind(site.space, site.op, site.dtype, site.pieces, field_at(site))
            names.setdefault(mark_name(action, site), _built(action, kind))
    return names
