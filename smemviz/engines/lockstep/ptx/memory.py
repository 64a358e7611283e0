"""The memories that PTX addresses: global allocations far from each other, and windows of generic addresses."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.code.module import UNSIGNED

# An address tells its allocation: each lies in the middle of 4 GiB of its own, so that what runs over its end, or lies
# before it, is in no other.
_FIRST = 0x7000_0000_0000
_ROOM_BITS = 32
_MIDDLE = 1 << (_ROOM_BITS - 1)
WINDOW = (_FIRST, 0x800_0000_0000)  # the first of all addresses, and how many there are

SHARED_WINDOW = 1 << 40
LOCAL_WINDOW = 2 << 40
_WINDOW_END = 3 << 40


class Allocation:
    """Bytes of global memory from an address on."""

    moved = 0  # by how much recordings of compiled launches have it elsewhere

    def __init__(self, name: str, start: int, data: NDArray[np.uint8]) -> None:
        self.name = name
        self.start = start
        self.nbytes = len(data)
        self.data = np.zeros(-(-len(data) // 16) * 16 + 16, np.uint8)
        self.data[: len(data)] = data
        self.pointers: dict[int, str] = {}  # bytes at which the address of a variable is added
        self.views: dict[int, Any] = {size: self.data.view(dtype) for size, dtype in UNSIGNED.items()}


class GlobalMemory:
    """The global memory of a launch."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []

    def place(self, name: str, data: NDArray[np.uint8]) -> Allocation:
        """Put bytes into memory of their own."""
        start = _FIRST + (len(self.allocations) << _ROOM_BITS) + _MIDDLE
        self.allocations.append(Allocation(name, start, data))
        return self.allocations[-1]

    def holding(self, low: int, high: int) -> Allocation | None:
        """Return the allocation that addresses from ``low`` to below ``high`` all lie in, None where none does."""
        number = (low - _FIRST) >> _ROOM_BITS
        if 0 <= number < len(self.allocations):
            allocation = self.allocations[number]
            if allocation.start <= low and high <= allocation.start + allocation.nbytes:
                return allocation
        return None

    def near(self, low: int, high: int) -> bool:
        """Tell whether two addresses are near the same allocation."""
        return (low - _FIRST) >> _ROOM_BITS == (high - _FIRST) >> _ROOM_BITS

    def nearest(self, address: int) -> Allocation | None:
        """Return the allocation that an address outside of it was meant for, None where there is none near."""
        number = (address - _FIRST) >> _ROOM_BITS
        return self.allocations[number] if 0 <= number < len(self.allocations) else None

    def numbers(self, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the allocation that each address is near."""
        return (addresses - _FIRST) >> _ROOM_BITS

    def inside(self, addresses: NDArray[np.int64], size: int | NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which accesses lie in an allocation; ``size`` is their bytes, each the same or each its own."""
        starts = np.array([allocation.start for allocation in self.allocations] or [0])
        ends = np.array([allocation.start + allocation.nbytes for allocation in self.allocations] or [0])
        number = np.clip(self.numbers(addresses), 0, len(starts) - 1)
        return np.asarray((starts[number] <= addresses) & (addresses + size <= ends[number]))


def spaces(addresses: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return which memory generic addresses mean: 0 global, 1 shared, 2 local."""
    shared = (addresses >= SHARED_WINDOW) & (addresses < LOCAL_WINDOW)
    local = (addresses >= LOCAL_WINDOW) & (addresses < _WINDOW_END)
    return np.asarray(shared + 2 * local, np.int8)


def space_at(address: int) -> str:
    """Return which memory a generic address means."""
    if address >= _WINDOW_END or address < SHARED_WINDOW:
        return "global"
    return "shared" if address < LOCAL_WINDOW else "local"


SPACES = ("global", "shared", "local")
WINDOWS = {"global": 0, "shared": SHARED_WINDOW, "local": LOCAL_WINDOW}
