"""What shared memory is used for, as Triton's own intermediate code tells once memory is allocated in it."""

import math
import re
from collections.abc import Callable, Iterator

import numpy as np

from smemviz.frontends.cuda.shapes import SharedPiece

_SIZE = re.compile(r"\bttg\.shared = (\d+) : i32")
_OFFSET = re.compile(r"allocation\.offset = (?P<offset>\d+) : i32(?:, allocation\.size = (?P<size>\d+) : i32)?")
_OPERATION = re.compile(
    r'^\s*(?:(?P<result>%[\w:]+)(?:, %[\w:]+)* = )?"?[a-z_]+\.(?P<name>[\w.]+)"?\(?[^%{<]*(?P<operand>%\w+)?'
)
_MEMORY = re.compile(r"!ttg\.memdesc<(?P<shape>[\dx]+)x(?P<type>[a-z]\w*), (?P<layout>#\w+)")
_ORDER = re.compile(r"^(?P<name>#\w+) = #ttg\.\w+<\{(?P<what>.*)\}>", re.MULTILINE)
_LOCATION = re.compile(r"\bloc\((?P<name>#\w+)\)\s*$")
_DEFINED = re.compile(r"^(?P<name>#loc\w*) = loc\((?P<what>.*)\)$", re.MULTILINE)
_PLACE = re.compile(r'"(?P<file>[^"]*)":(?P<line>\d+):\d+')
_REFERENCE = re.compile(r"#loc\w*")
_DTYPES = {"f16": "float16", "f32": "float32", "f64": "float64", "bf16": "uint16"}
# What shared memory is for, behind the name of the value that goes through it.
_USES = {"convert_layout": "layout", "reduce": "reduction"}


def shared_pieces(text: str, nbytes: int, is_own: Callable[[str], bool]) -> tuple[SharedPiece, ...]:
    """Return the pieces that a module of Triton's has been given, several at one place where one is used after another.

    ``nbytes`` is what the kernel has of shared memory: a module that was given another amount says nothing of it.
    """
    size = _SIZE.search(text)
    if size is None or int(size[1]) != nbytes:
        return ()
    layouts = {match["name"]: match["what"] for match in _ORDER.finditer(text)}
    locations = {match["name"]: match["what"] for match in _DEFINED.finditer(text)}
    pieces = []
    for operation, line in _allocating(text):
        head, allocation = _OPERATION.match(operation), _OFFSET.search(line)
        assert allocation is not None
        if head is None:
            continue
        location = _LOCATION.search(line)
        name, number = _named(location["name"] if location else "", locations, is_own)
        memory = _MEMORY.search(line.partition(" -> ")[2])
        offset = int(allocation["offset"])
        if memory is not None:
            shape, dtype = _shaped(memory, layouts)
            pieces.append(SharedPiece(name or _plain(head["result"]) or "operand", number, offset, shape, dtype))
        elif allocation["size"]:
            use = _USES.get(head["name"], head["name"].replace(".", "_"))
            value = _plain(head["operand"])
            words = (int(allocation["size"]) // 4,)
            pieces.append(SharedPiece(f"{value}_{use}" if value else use, number, offset, words, "uint32"))
    whole = (piece for piece in pieces if math.prod(piece.shape) and _end(piece) <= nbytes)
    return tuple(dict.fromkeys(whole))


def _end(piece: SharedPiece) -> int:
    return piece.offset + math.prod(piece.shape) * np.dtype(piece.dtype).itemsize


def _allocating(text: str) -> Iterator[tuple[str, str]]:
    """Give each operation that has memory: the line it begins in, and the one that says where its memory is."""
    begun = ""
    for line in text.splitlines():
        if line.rstrip().endswith("({"):
            begun = line
        if "allocation.offset" in line:
            yield (begun if line.lstrip().startswith("})") else line), line


def _plain(value: str | None) -> str:
    """Return the name that a value has in the source; empty for one that has a number alone."""
    name = re.sub(r"(_\d+)?(:\d+)?$", "", (value or "").lstrip("%"))
    return "" if name.isdecimal() or name.startswith(("arg", "cst")) else name


def _named(location: str, locations: dict[str, str], is_own: Callable[[str], bool]) -> tuple[str, int]:
    """Return the name at a location, empty where it has none, and its line in a file of the user's, 1 without."""
    what = locations.get(location, "")
    name = re.match(r'"(\w+)"\((?P<inner>#loc\w*)\)$', what)
    if name:
        return name[1], _named(name["inner"], locations, is_own)[1]
    place = _PLACE.match(what)
    if place:
        return "", int(place["line"]) if is_own(place["file"]) else 0
    for reference in _REFERENCE.findall(what):  # a call's own place, and then where it is called
        inner, line = _named(reference, locations, is_own)
        if line:
            return inner, line
    return "", 0


def _shaped(memory: re.Match[str], layouts: dict[str, str]) -> tuple[tuple[int, ...], str]:
    """Return the shape of memory as it lies there, the fastest index last, and its type."""
    shape = tuple(map(int, memory["shape"].split("x")))
    what = layouts.get(memory["layout"], "")
    order = re.search(r"order = \[([\d, ]+)\]", what)
    if order:
        axes = [int(axis) for axis in order[1].split(",")][::-1]
        inner = shape[len(shape) - len(axes) :]
        shape = (*shape[: len(shape) - len(axes)], *(inner[axis] for axis in axes))
    elif "transposed = true" in what:
        shape = (*shape[:-2], shape[-1], shape[-2])
    bits = int(re.sub(r"\D", "", memory["type"]) or 8)
    dtype = _DTYPES.get(memory["type"], f"uint{max(8, bits)}" if bits in (1, 8, 16, 32, 64) else "uint8")
    return shape, dtype
