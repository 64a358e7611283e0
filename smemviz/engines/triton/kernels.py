"""A kernel of Triton and its arguments, as what runs PTX takes them."""

import linecache
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.launch_shape import is_library
from smemviz.engines.lockstep.ptx.code.parse import files_of
from smemviz.engines.lockstep.ptx.host.arguments import Extent, StructureValue, with_pointers
from smemviz.engines.lockstep.ptx.host.cuda_launch import parsed
from smemviz.engines.lockstep.ptx.host.entry import DefinedElsewhere, Entry
from smemviz.engines.lockstep.ptx.tensor_maps import encoded
from smemviz.frontends.cuda.compiling import Compiled
from smemviz.frontends.cuda.shapes import SharedPiece
from smemviz.frontends.triton.python_text import PythonText, with_own_places
from smemviz.languages import TRITON
from smemviz.model.layout.operand_tiles import SWIZZLE_WIDTHS

_BYTES = {"i1": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "u64": 8}
_MAP = "map"
_TF32 = 11
_TYPES_OF_MAPS = {8: 10, 9: 8, 10: 9}  # Triton's numbers of types that the driver numbers otherwise
_FLOATS: Mapping[str, Any] = {"fp16": np.float16, "fp32": np.float32, "f32": np.float32, "fp64": np.float64}


@dataclass(frozen=True)
class Passed:
    """One argument as it is passed: its name, Triton's type, its value."""

    name: str
    type: str
    value: Any


def passed(
    signature: Iterable[tuple[str, Any]], values: Sequence[Any], maps: Iterator[Mapping[str, Any]] | None = None
) -> Iterator[Passed]:
    """Give the arguments that a kernel's PTX takes, in order: no constants, and the items of tuples one by one.

    ``maps`` say of each tensor descriptor which tensor map it becomes; there are none where the hardware has none.
    """
    for (name, kind), value in zip(signature, values, strict=False):
        if isinstance(kind, tuple):
            inner = ((f"{name}[{number}]", one) for number, one in enumerate(kind))
            yield from passed(inner, tuple(value), maps)
        elif str(kind).startswith("tensordesc"):
            yield from _descriptor(name, value, next(maps, None) if maps else None)
        elif kind != "constexpr":
            yield Passed(name, str(kind), value)


def _descriptor(name: str, value: Any, described: Mapping[str, Any] | None) -> Iterator[Passed]:
    """Give what stands for a tensor descriptor: a map, or its tensor, sizes and flags; and its sizes."""
    nan, rounds = getattr(value, "padding", "zero") == "nan", getattr(value, "round_f32_to_tf32", False)
    again = [*(("i32", size) for size in value.shape), *(("i64", step) for step in value.strides)]
    if described is not None:
        yield Passed(name, _MAP, (value, _map(value, described, nan, rounds)))
        shape, flags = [], []
    else:
        yield Passed(name, "*", value.base)
        shape = [("i64", size) for size in (*value.shape, *value.strides)]
        flags = [("i1", nan), ("i1", rounds)]
    for number, (one, given) in enumerate((*shape, *flags, *again)):
        yield Passed(f"{name}.{number}", one, given)


def _map(value: Any, described: Mapping[str, Any], nan: bool, rounds: bool) -> NDArray[np.uint8]:
    """Return the tensor map of a descriptor, as Triton has the driver make one; its sizes are innermost last."""
    kind = _TF32 if rounds else _TYPES_OF_MAPS.get(described["elem_type"], described["elem_type"])
    sizes, box = tuple(value.shape)[::-1], tuple(described["block_size"])[::-1]
    strides = [step * described["elem_size"] for step in tuple(value.strides)[-2::-1]]
    return encoded(kind, sizes, strides, box, width=SWIZZLE_WIDTHS[described["swizzle"]], fills_nan=nan)


class Compiling(Protocol):
    """What launches a compiled kernel of Triton."""

    source: Any
    metadata: Any
    ptx: str
    pieces: tuple[SharedPiece, ...]


def entry_of(launcher: Compiling, own_file: str, arguments: Sequence[Passed]) -> Entry:
    """Return a kernel ready to be launched; ``own_file`` is the script as messages name it."""
    function, name = launcher.source.fn, launcher.metadata.name
    file = entry_file(launcher, own_file)
    text, texts = _with_texts(launcher.ptx, file, own_file)
    taken = len(parsed(text).functions[name].parameters)
    names = [one.name for one in arguments]
    names += [f"scratch_{number}" for number in range(taken - len(names))]
    code = function.fn.__code__
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]  # from its first decorator
    first = next((at for at, text in enumerate(lines) if text.lstrip().startswith("def ")), 0)
    kernel = DefinedElsewhere(file, function.fn.__name__, code.co_firstlineno + first, tuple(names), TRITON)
    compiled = Compiled(text, {kernel.name: name}, texts, (), {}, launcher.pieces)
    return Entry(kernel, compiled, kernel.name)


def entry_file(launcher: Compiling, own_file: str) -> str:
    """Return the file that defines a kernel, as messages name it."""
    return _shown(launcher.source.fn.fn.__code__.co_filename, own_file)


@lru_cache(maxsize=64)
def _with_texts(ptx: str, file: str, own_file: str) -> tuple[str, dict[str, PythonText]]:
    """Return PTX with places in the user's files alone, and these files by the paths that it has for them."""
    files = files_of(ptx)
    own = {number: path for number, path in files.items() if not is_library(path)}
    text, places = with_own_places(ptx, own.__contains__)
    texts = {}
    for number, path in own.items():
        shown = _shown(path, own_file)
        source = "".join(linecache.getlines(shown))
        texts[path.replace("\\", "/")] = PythonText("" if shown == file else shown, source, "", places.get(number, ()))
    return text, texts


def _shown(path: str, own_file: str) -> str:
    """Return a file as messages name it."""
    return own_file if Path(path).resolve() == Path(own_file).resolve() else Path(path).as_posix()


def bound(
    arguments: Sequence[Passed],
    taken: int,
    storage_of: Callable[[Any], tuple[NDArray[Any], int]],
    storages: Callable[[], Iterable[Extent]],
) -> list[Any]:
    """Return arguments as a launch of PTX takes them, with null pointers for scratch memory that is not used.

    ``storage_of`` gives the memory of a tensor, and at which byte of it the tensor begins; ``storages`` are the memory
    of all tensors, of which kernels find addresses in memory.
    """
    values: list[Any] = [_value(one, storage_of, storages) for one in arguments]
    return [*values, *(bytes(8) for _ in range(taken - len(values)))]


def _value(
    argument: Passed,
    storage_of: Callable[[Any], tuple[NDArray[Any], int]],
    storages: Callable[[], Iterable[Extent]],
) -> Any:
    kind, value = argument.type.removeprefix("k"), argument.value
    if kind == _MAP:
        array, offset = storage_of(value[0].base)
        tensor_map = value[1].copy()
        tensor_map[:8] = np.array([offset], np.uint64).view(np.uint8)
        return StructureValue(tensor_map, {0: ("", array)})
    if kind.startswith("*"):
        if isinstance(value, int) or value is None:
            return int(value or 0).to_bytes(8, "little")
        array, offset = storage_of(value)
        if kind.endswith("64"):  # it may have addresses of other tensors
            array = with_pointers(array, storages)
        return StructureValue(np.array([offset], np.uint64).view(np.uint8), {0: ("", array)})
    if kind in _FLOATS:
        data: bytes = _FLOATS[kind](value).tobytes()
        return data
    if kind == "bf16":
        return (np.float32(value).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    size = _BYTES[kind]
    return (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
