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


def _type_of_update(update: str, name: str) -> str:
    """Return as elements of which type an update of some is made, empty where it is not made of such."""
    bits = name[1:]
    types = _UPDATES.get(update, "").split()
    return next((one for one in (name, f"u{bits}" if name[0] == "s" else name, f"b{bits}") if one in types), "")


def _typed(kind: Kind, number: Any, array: Any, index: Any, *values: Any) -> Any:
    """Return the type of an access with so many values, and what writes it: it gives what a load or an update found."""
    element = element_type(array, kind)
    name, constraint = _bits(element)
    update = "add" if kind.op == "reduce_inc" else kind.op.partition("_")[2]
    opcode, is_store = {"load": "ld", "store": "st"}.get(kind.op, "atom"), kind.op == "store"
    if opcode == "atom":
        name = _type_of_update(update, name)
        if not name:
            raise TypingError(f"{kind.op} of {element} is not made by machine code")
        name = f"{'add' if update == 'sub' else update}.{name}"

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        model = context.data_model_manager[element]
        stored = model.get_data_type()
        held = ir.IntType(16) if stored == ir.IntType(8) else stored  # a register has 16 bits at least
        given = []
        for value, own in zip(arguments[3:], signature.args[3:], strict=True):
            data = model.as_data(builder, context.cast(builder, value, own, element))
            given.append(builder.zext(data, held) if held != stored else data)
        if update == "sub":
            given = [builder.fneg(given[0]) if constraint in "fd" else builder.neg(given[0])]
        result = [] if is_store else ["$0"]
        at = len(result)
        last = at + 1 + len(given)
        operands = ", ".join((*result, f"[${at}]", *(f"${operand}" for operand in range(at + 1, last))))
        where = "r" if kind.space == "shared" else "l"
        constraints = ",".join((*([f"={constraint}"] if result else []), where, *[constraint] * len(given), "n"))
        found = asm(
            builder,
            f"{opcode}.site${last}.{kind.space}.{name} {operands};",
            constraints,
            held if result else VOID,
            (_address(context, builder, signature, arguments, kind), *given, arguments[0]),
        )
        if is_store:
            return context.get_dummy_value()
        return model.from_data(builder, builder.trunc(found, stored) if held != stored else found)

    return (cuda.types.void if is_store else element)(cuda.types.int64, array, index, *values), generate


@cache
def _built(action: str, kind: Kind) -> Any:
    """Build the function that makes an access."""

    @intrinsic  # type: ignore[untyped-decorator]
    def load(typing_context: Any, number: Any, array: Any, index: Any) -> Any:
        return _typed(kind, number, array, index)

    @intrinsic  # type: ignore[untyped-decorator]
    def change(typing_context: Any, number: Any, array: Any, index: Any, value: Any) -> Any:
        return _typed(kind, number, array, index, value)

    @intrinsic  # type: ignore[untyped-decorator]
    def swap(typing_context: Any, number: Any, array: Any, index: Any, old: Any, value: Any) -> Any:
        return _typed(kind, number, array, index, old, value)

    if action == "swap":
        return inlined(lambda number, array, old, value: swap(number, array, 0, old, value))
    return load if kind.op == "load" else swap if kind.op.endswith("cas") else change


@intrinsic  # type: ignore[untyped-decorator]
def _declare(typing_context: Any, number: Any, array: Any) -> Any:
    """Return a shared array as it lies where the launch has it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        value = arrayobj.make_array(signature.args[1])(context, builder, arguments[1])
        address = asm(builder, f"mov.u64 $0, {ARRAY}$1;", "=l,n", LONG, arguments[:1])
        value.data = builder.inttoptr(address, value.data.type)
        return value._getvalue()

    return array(cuda.types.int64, array), generate


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
