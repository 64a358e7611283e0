"""The arguments of a launch in CUDA C++: arrays copied to global memory and back, numbers as their types have them."""

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.memory.device_array import DeviceArray
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.running_launch import Place
from smemviz.errors import LaunchError
from smemviz.frontends.arguments import fits, is_whole, wrong_number
from smemviz.frontends.cuda.shapes import Parameter
from smemviz.messages import english
from smemviz.recordings.data import ArrayInfo

_LOWEST, _HIGHEST = 1 << 32, 1 << 47  # what addresses of a process lie between, and small numbers do not


class Buffer(Protocol):
    """Bytes in the memory of a launch."""

    @property
    def start(self) -> int:
        """Their address."""

    @property
    def nbytes(self) -> int:
        """How many there are."""

    @property
    def data(self) -> NDArray[np.uint8]:
        """What they are now."""


class Memory(Protocol):
    """The memory of a launch: lockstep's, or that of a GPU."""

    def place(self, name: str, data: NDArray[np.uint8]) -> Buffer:
        """Put bytes into memory of their own."""


@dataclass(frozen=True, eq=False)
class StructureValue:
    """A structure that a kernel takes by value: its bytes, and by where their addresses stand in it, arrays.

    Each has the field that points to it, as it is written behind the structure's name. The bytes there say how far
    behind the beginning of the array it points.
    """

    data: NDArray[np.uint8]
    arrays: Mapping[int, tuple[str, NDArray[Any]]]


def arrays_among(args: Sequence[Any]) -> list[Any]:
    """Return the arguments of a launch, the arrays of a structure in its place."""
    among: list[Any] = []
    for value in args:
        among += [array for _, array in value.arrays.values()] if isinstance(value, StructureValue) else [value]
    return among


class Pointing(np.ndarray[Any, Any]):
    """An array with addresses of the host's memory in it, each that of a place in another array.

    ``pointers`` has them by the number of the word of 8 bytes: the other array, and which byte of it is meant.
    """

    pointers: Mapping[int, tuple[NDArray[Any], int]] = {}


# Memory that addresses may be of: its address, how many bytes it has, and what gives it as an array.
Extent = tuple[int, int, Callable[[], NDArray[Any]]]


def with_pointers(array: NDArray[Any], memories: Callable[[], Iterable[Extent]]) -> NDArray[Any]:
    """Return an array that tells which of its words are addresses of memory that is known; itself where none is."""
    is_whole = array.flags.c_contiguous and array.nbytes % 8 == 0 and array.dtype.kind in "iuV"
    words = array.reshape(-1).view(np.ndarray).view(np.uint64) if is_whole and array.size else np.zeros(0, np.uint64)
    likely = np.flatnonzero((words >= _LOWEST) & (words < _HIGHEST))
    known = sorted(memories(), key=lambda memory: memory[:2]) if len(likely) else []
    if not known:
        return array
    addresses = words[likely].astype(np.int64)
    which = np.searchsorted([start for start, _, _ in known], addresses, "right") - 1
    beyond = np.array([start + size for start, size, _ in known])
    inside = np.flatnonzero((which >= 0) & (addresses < beyond[which]) & (addresses != array.ctypes.data))
    made = array.view(Pointing)
    made.pointers = {
        int(likely[at]): (known[which[at]][2](), int(addresses[at]) - known[which[at]][0]) for at in inside
    }
    return made if made.pointers else array


_Memory = TypeVar("_Memory", bound=Memory)


@dataclass
class BoundArguments(Generic[_Memory]):
    """What a launch was given: global memory with its arrays, and the bytes of each parameter by its name in PTX."""

    memory: _Memory
    parameters: dict[str, NDArray[np.uint8]] = field(default_factory=dict)
    _arrays: list[tuple[str, NDArray[Any], Buffer]] = field(default_factory=list)

    def add(self, name: str, array: NDArray[Any]) -> Buffer:
        """Copy an array into global memory; one that is there already is the same memory."""
        for _, known, allocation in self._arrays:
            if known is array or (known.nbytes == array.nbytes > 0 and known.ctypes.data == array.ctypes.data):
                return allocation
        flat = np.frombuffer(bytearray(array.tobytes("C" if array.flags.c_contiguous else "F")), np.uint8)
        if isinstance(array, Pointing):
            for number, (other, offset) in array.pointers.items():
                place = 8 * number // array.itemsize
                flat.view(np.uint64)[number] = self.add(f"{name}[{place}]", other).start + offset
        self._arrays.append((name, array, self.memory.place(name, flat)))
        return self._arrays[-1][2]

    def copy_back(self) -> None:
        """Copy every array back to where it came from, unless it cannot be written."""
        for _, array, allocation in self._arrays:
            if array.flags.writeable:
                flat = allocation.data[: allocation.nbytes]
                if isinstance(array, Pointing):
                    flat = self._of_the_host(array, flat)
                flat = flat.view(array.dtype)
                array[...] = flat.reshape(array.shape, order="C" if array.flags.c_contiguous else "F")

    def _of_the_host(self, array: Pointing, data: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return what an array holds now, the addresses in it those of the host's memory again."""
        data = data.copy()
        words, before = data.view(np.uint64), array.reshape(-1).view(np.ndarray).view(np.uint64)
        for number, (other, offset) in array.pointers.items():
            if words[number] == self.add("", other).start + offset:
                words[number] = before[number]
        return data

    def bytes_by_name(self) -> dict[str, NDArray[np.uint8]]:
        """Return what the arrays hold now, by the names of their parameters."""
        return {name: allocation.data[: allocation.nbytes] for name, _, allocation in self._arrays}

    def arrays(self, line: int) -> tuple[ArrayInfo, ...]:
        return tuple(
            ArrayInfo(name, "global", array.shape, array.strides, str(array.dtype), allocation.start, line)
            for name, array, allocation in self._arrays
        )


def bind_arguments(
    entry: Entry, kernel: Kernel, args: Sequence[Any], place: Place, memory: _Memory
) -> BoundArguments[_Memory]:
    """Put the arguments of a launch into memory, as the kernel finds them.

    Raises:
        LaunchError: when they are not as many, or not of the kind, that the kernel takes.
    """
    names = entry.program.kernel(entry.name, place[1]).parameters
    parameters = kernel.function.parameters
    if len(args) != len(parameters):
        raise wrong_number(*place, entry.plain, names, len(args))
    known = {parameter.name: parameter for parameter in entry.compiled.parameters.get(entry.symbol, ())}
    arguments = BoundArguments(memory)
    for name, variable, value in zip(names, parameters, args, strict=True):
        parameter = known.get(name)
        value = value.array if isinstance(value, DeviceArray) else value
        arguments.parameters[variable.name] = _bytes(arguments, name, parameter, variable.size, value, place)
    return arguments


def _bytes(
    arguments: BoundArguments[Any], name: str, parameter: Parameter | None, size: int, value: Any, place: Place
) -> NDArray[np.uint8]:
    if parameter is not None and parameter.pointer:
        if isinstance(value, np.ndarray):
            _check_array(name, parameter, value, place)
            return np.array([arguments.add(name, value).start], np.uint64).view(np.uint8)
        if value is None or (isinstance(value, int) and value == 0):
            return np.zeros(8, np.uint8)
        what = english(
            "{name} is a pointer and takes an array; {value} is not one", name=name, value=reprlib.repr(value)
        )
        raise LaunchError(*place, what)
    if isinstance(value, StructureValue):
        data = value.data.copy()
        for at, (field_name, array) in value.arrays.items():
            data[at : at + 8].view(np.uint64)[0] += arguments.add(name + field_name, array).start
        return data
    if isinstance(value, bytes):
        if len(value) == size:
            return np.frombuffer(value, np.uint8)
        given_size = len(value)
        raise LaunchError(
            *place, english("{name} takes {size} bytes; {given} are given", name=name, size=size, given=given_size)
        )
    dtype = np.dtype(parameter.element.dtype) if parameter and not parameter.structure else None
    if isinstance(value, np.ndarray) and value.ndim:
        raise LaunchError(*place, english("{name} is a number; the launch gives an array", name=name))
    if dtype is None or dtype.itemsize != size or not isinstance(value, bool | int | float | np.generic):
        what = english(
            "{name} takes {size} bytes; give it as bytes, {value} is not", name=name, size=size, value=repr(value)
        )
        raise LaunchError(*place, what)
    return _number(name, value, dtype, place)


def _number(name: str, value: Any, dtype: np.dtype[Any], place: Place) -> NDArray[np.uint8]:
    if dtype.kind in "iu" and not is_whole(value):
        raise LaunchError(*place, english("{name} is an integer; {value} is not", name=name, value=repr(value)))
    if not fits(value, dtype):
        raise LaunchError(
            *place, english("{name}: {value} does not fit {dtype}", name=name, value=value, dtype=str(dtype))
        )
    return np.array([value]).astype(dtype).view(np.uint8)


def _check_array(name: str, parameter: Parameter, array: NDArray[Any], place: Place) -> None:
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise LaunchError(*place, english("{name}: the array is not contiguous; copy it first", name=name))
    element = parameter.element
    if element.lanes == 1 and element.dtype and element.size == np.dtype(element.dtype).itemsize:
        element_type = np.dtype(element.dtype)
        # Bytes are anything, and halves of any kind look alike.
        interchangeable = element.size == 1 or array.dtype.itemsize == element_type.itemsize == 2
        if not interchangeable and (
            array.dtype.itemsize != element_type.itemsize or (array.dtype.kind == "f") != (element_type.kind == "f")
        ):
            what = english(
                "{name} points to {wanted}; the launch gives an array of {dtype}",
                name=name,
                wanted=str(element_type),
                dtype=str(array.dtype),
            )
            raise LaunchError(*place, what)
