"""The device functions that make the accesses of a kernel in PTX, each with the number of its site in its name.

``ld.site3.global.f32 %f1, [%rd2];`` is the load of site 3: an instruction that no device knows, and the machine for PTX
does. An index that is outside of its axis, or negative, gives an address where no memory is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import cuda
from numba.core.errors import TypingError
from numba.cuda.decorators import jit
from numba.cuda.extending import intrinsic
from numba.cuda.np import arrayobj

from smemviz.engines.instrument import DECLARE, PREFIX, ROUND, field_at, mark_name
from smemviz.engines.lockstep.ptx.memory import SHARED_WINDOW
from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.sites.site_arrays import CACHE_HINTS
from smemviz.recordings.data import Site, Space

ARRAY = "smemviz_array"  # with its number, a symbol: where the shared array begins, as a generic address
_ROUND = "smemviz_round"
_NOWHERE = 0x7FFF_FFF0

LONG, WORD, VOID = ir.IntType(64), ir.IntType(32), ir.VoidType()
_CONSTRAINTS = {8: "h", 16: "h", 32: "r", 64: "l"}
_UPDATES = {
    "inc": "u32",
    "dec": "u32",
    **dict.fromkeys(("add", "sub"), "u32 u64 f32 f64"),
    **dict.fromkeys(("max", "min"), "s32 s64 u32 u64 f32 f64"),
    **dict.fromkeys(("and", "or", "xor", "exch", "cas"), "b32 b64"),
}
inlined = jit(device=True, forceinline=True)


class Kind(NamedTuple):
    """What a device function depends on; sites that agree in it share one, so that it is compiled once."""

    space: Space
    op: str
    dtype: str
    pieces: int
    field: str


def asm(builder: Any, text: str, constraints: str, result: Any, arguments: Sequence[Any], *, once: bool = False) -> Any:
    """Write an instruction of PTX, which may be copied as little as a barrier to where only some lanes come."""
    function = ir.FunctionType(result, [argument.type for argument in arguments])
    call = builder.call(ir.InlineAsm(function, text, constraints, side_effect=True), arguments, attrs=("convergent",))
    if once:
        set.add(call.attributes, "noduplicate")  # LLVM knows it, llvmlite does not
    return call


def indices_of(context: Any, builder: Any, index_type: Any, index: Any) -> tuple[Any, Any]:
    """Return the types of the indices of an element, and these."""
    types: Any = (index_type,)
    indices = [index]
    if isinstance(index_type, cuda.types.BaseTuple):
        types = tuple(index_type)
        indices = cuda.cgutils.unpack_tuple(builder, index, len(types))
    normal: tuple[Any, Any] = arrayobj.normalize_indices(context, builder, types, indices)
    return normal


def _address(context: Any, builder: Any, signature: Any, arguments: Sequence[Any], kind: Kind) -> Any:
    """Return the address of an element, or of a field of it, in the terms of its memory."""
    array_type, index_type = signature.args[1:3]
    value = arrayobj.make_array(array_type)(context, builder, arguments[1])
    types, indices = indices_of(context, builder, index_type, arguments[2])
    shape = cuda.cgutils.unpack_tuple(builder, value.shape, array_type.ndim)
    numbers = [context.cast(builder, index, own, cuda.types.intp) for own, index in zip(types, indices, strict=True)]
    pointer = cuda.cgutils.get_item_pointer2(
        context,
        builder,
        value.data,
        shape,
        cuda.cgutils.unpack_tuple(builder, value.strides, array_type.ndim),
        array_type.layout,
        numbers,
        wraparound=False,
    )
    address = builder.ptrtoint(pointer, LONG)
    if kind.field:
        address = builder.add(address, LONG(array_type.dtype.offset(kind.field)))
    for number, size in zip(numbers, shape, strict=True):
        address = builder.select(builder.icmp_unsigned("<", number, size), address, LONG(_NOWHERE))
    if kind.space == "shared":
        return builder.trunc(builder.sub(address, LONG(SHARED_WINDOW)), WORD)
    return address


def element_type(array_type: Any, kind: Kind) -> Any:
    """Return the type of an element of an array, or of a field of it."""
    return array_type.dtype.typeof(kind.field) if kind.field else array_type.dtype


def _bits(element: Any) -> tuple[str, Any]:
    """Return an element's type in PTX, and its constraint in an instruction.

    Raises:
        TypingError: where no register holds one.
    """
    dtype = np.dtype(str(element)) if not isinstance(element, cuda.types.Boolean) else np.dtype(bool)
    if dtype.kind not in "biuf" or dtype.str[1:] == "f2":
        raise TypingError(f"{dtype} is not accessed by machine code")
    size = 8 * dtype.itemsize
    if dtype.kind == "f":
        return f"f{size}", "f" if size == 32 else "d"
    return f"{'s' if dtype.kind == 'i' else 'u'}{size}", _CONSTRAINTS[size]


def _in_register(builder: Any, value: Any) -> Any:
    """Return a value as a register holds it, of 16 bits at least."""
    return builder.zext(value, ir.IntType(16)) if value.type == ir.IntType(8) else value


def _where(kind: Kind) -> str:
    return "r" if kind.space == "shared" else "l"


def _load(kind: Kind) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def load(typing_context: Any, number: Any, array: Any, index: Any) -> Any:
        element = element_type(array, kind)
        name, constraint = _bits(element)

        def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
            model = context.data_model_manager[element]
            stored = model.get_data_type()
            held = ir.IntType(16) if stored == ir.IntType(8) else stored
            address = _address(context, builder, signature, arguments, kind)
            text = f"ld.site$2.{kind.space}.{name} $0, [$1];"
            value = asm(builder, text, f"={constraint},{_where(kind)},n", held, (address, arguments[0]))
            return model.from_data(builder, builder.trunc(value, stored) if held != stored else value)

        return element(cuda.types.int64, array, index), generate

    return load


def _store(kind: Kind) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def store(typing_context: Any, number: Any, array: Any, index: Any, value: Any) -> Any:
        element = element_type(array, kind)
        name, constraint = _bits(element)

        def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
            cast = context.cast(builder, arguments[3], signature.args[3], element)
            stored = _in_register(builder, context.data_model_manager[element].as_data(builder, cast))
            address = _address(context, builder, signature, arguments, kind)
            text = f"st.site$2.{kind.space}.{name} [$0], $1;"
            asm(builder, text, f"{_where(kind)},{constraint},n", VOID, (address, stored, arguments[0]))
            return context.get_dummy_value()

        return cuda.types.void(cuda.types.int64, array, index, value), generate

    return store


def _changing(kind: Kind) -> Callable[..., Any]:
    """Return what types and writes an update of an element with one or two values; it gives what was there."""
    update = "add" if kind.op == "reduce_inc" else kind.op.partition("_")[2]
    types = _UPDATES.get(update, "").split()

    def change(number: Any, array: Any, index: Any, *values: Any) -> Any:
        element = element_type(array, kind)
        name, constraint = _bits(element)
        bits = name[1:]
        name = next((one for one in (name, f"u{bits}" if name[0] == "s" else name, f"b{bits}") if one in types), "")
        if not name:
            raise TypingError(f"{kind.op} of {element} is not made by machine code")
        opcode = "add" if update == "sub" else update

        def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
            pairs = zip(arguments[3:], signature.args[3:], strict=True)
            given = [context.cast(builder, value, own, element) for value, own in pairs]
            if update == "sub":
                given = [builder.fneg(given[0]) if name[0] == "f" else builder.neg(given[0])]
            last = 2 + len(given)
            operands = ", ".join(f"${operand}" for operand in range(2, last))
            text = f"atom.site${last}.{kind.space}.{opcode}.{name} $0, [$1], {operands};"
            constraints = ",".join((f"={constraint}", _where(kind), *[constraint] * len(given), "n"))
            address = _address(context, builder, signature, arguments, kind)
            result = context.get_value_type(element)
            return asm(builder, text, constraints, result, (address, *given, arguments[0]))

        return element(cuda.types.int64, array, index, *values), generate

    return change


def _atomic(kind: Kind) -> Any:
    changing = _changing(kind)

    @intrinsic  # type: ignore[untyped-decorator]
    def change(typing_context: Any, number: Any, array: Any, index: Any, value: Any) -> Any:
        return changing(number, array, index, value)

    @intrinsic  # type: ignore[untyped-decorator]
    def swap(typing_context: Any, number: Any, array: Any, index: Any, old: Any, value: Any) -> Any:
        return changing(number, array, index, old, value)

    return swap if kind.op.endswith("cas") else change


def _swap(kind: Kind) -> Any:
    swap = _atomic(kind)
    return inlined(lambda number, array, old, value: swap(number, array, 0, old, value))


@intrinsic  # type: ignore[untyped-decorator]
def _declare(typing_context: Any, number: Any, array: Any) -> Any:
    """Return a shared array as it lies where the launch has it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        value = arrayobj.make_array(signature.args[1])(context, builder, arguments[1])
        address = asm(builder, f"mov.u64 $0, {ARRAY}$1;", "=l,n", LONG, arguments[:1])
        value.data = builder.inttoptr(address, value.data.type)
        return value._getvalue()

    return array(cuda.types.int64, array), generate


_BUILDERS: dict[str, Callable[[Kind], Any]] = {"load": _load, "store": _store, "atomic": _atomic, "swap": _swap}
_BUILDERS |= {name: _load if op == "load" else _store for name, op in CACHE_HINTS.items()}


@cache
def _built(action: str, kind: Kind) -> Any:
    return _BUILDERS[action](kind)


@intrinsic  # type: ignore[untyped-decorator]
def _round(typing_context: Any) -> Any:
    """Mark a round of a loop, of which the compiler may not make copies."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        asm(builder, f"{_ROUND};", "", VOID, (), once=True)
        return context.get_dummy_value()

    return cuda.types.void(), generate


def without_rounds(ptx: str) -> str:
    """Return the text of a kernel without the marks of rounds, which have done what they are for."""
    return ptx.replace(f"{_ROUND};", "")


def accessors(sites: Sequence[Site]) -> dict[str, Any]:
    """Return every device function that the kernels with these sites may call, by name.

    Raises:
        UnsupportedError: for elements that are accessed in pieces.
    """
    for site in sites:
        if site.pieces > 1 or np.dtype(site.dtype).kind == "c":
            raise UnsupportedError(site.file, site.line, f"{site.source} is not accessed by machine code")
    return device_functions(sites, _declare, _built)


def device_functions(sites: Sequence[Site], declare: Any, built: Callable[[str, Kind], Any]) -> dict[str, Any]:
    """Return by their names what kernels with these sites may call: ``declare``, and what is ``built`` for each."""
    names: dict[str, Any] = {DECLARE: declare, ROUND: _round, f"{PREFIX}int64": numba.int64}
    for site in sites:
        kind = Kind(site.space, site.op, site.dtype, site.pieces, field_at(site))
        hints = [name for name, op in CACHE_HINTS.items() if op == site.op and site.space == "global"]
        for action in [site.op, *hints] if site.op in ("load", "store") else ["atomic", "swap"]:
            names.setdefault(mark_name(action, site), built(action, kind))
    return names
