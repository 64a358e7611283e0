"""The device's memory as long as a program runs: what it allocated, variables, and what each launch found there."""

import hashlib
import mmap
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.lockstep.ptx.code.module import UNSIGNED, Variable
from smemviz.engines.lockstep.ptx.host.entry import initial_bytes
from smemviz.engines.lockstep.ptx.host.layout import identifiers
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.memory import Allocation, GlobalMemory

MOST_BYTES = 1 << 31  # of one allocation: more does not fit between two addresses
_ROOM = 16


class SharedAllocation(Allocation):
    """Memory that the program sees at the same address: the bytes of a file that both map.

    ``pinned`` memory is the host's, which a kernel sees only where it is passed its address.
    """

    def __init__(self, name: str, start: int, nbytes: int, path: Path, *, pinned: bool) -> None:
        self.name, self.start, self.nbytes, self.pointers, self.pinned = name, start, nbytes, {}, pinned
        with path.open("w+b") as file:
            file.truncate(-(-nbytes // _ROOM) * _ROOM + _ROOM)
            self.data = np.frombuffer(mmap.mmap(file.fileno(), 0), np.uint8)
        self.views = {size: self.data.view(dtype) for size, dtype in UNSIGNED.items()}


class DeviceMemory(GlobalMemory):
    """Global memory that stays from one launch to the next; a freed allocation's place is taken by one of its size."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._freed: defaultdict[int, list[int]] = defaultdict(list)
        self._digests: dict[int, bytes] = {}  # by allocation
        self._variables: dict[str, int] = {}  # the address of each variable, by its name in PTX or in the program

    def allocate(self, name: str, nbytes: int) -> int:
        """Return the address of new memory, 0 where there is not enough."""
        if nbytes > MOST_BYTES:
            return 0
        if not self._freed[nbytes]:
            return self.place(name, np.zeros(nbytes, np.uint8)).start
        number = self._freed[nbytes].pop()
        self.allocations[number] = Allocation(name, self.allocations[number].start, np.zeros(nbytes, np.uint8))
        self._digests.pop(number, None)
        return self.allocations[number].start

    def share(self, nbytes: int, *, pinned: bool) -> tuple[int, Path]:
        """Return the address of new memory that both see, and the file that it is in; 0 where there is not enough."""
        path = self._folder / f"memory{len(self.allocations)}"
        if nbytes > MOST_BYTES:
            return 0, path
        start = self.place("", np.zeros(0, np.uint8)).start
        self.allocations[-1] = SharedAllocation("", start, nbytes, path, pinned=pinned)
        return start, path

    def release(self, address: int) -> bool:
        """Free memory by its address; False where none begins there."""
        allocation = self.nearest(address)
        if allocation is None or allocation.start != address or not allocation.nbytes:
            return False
        number = self.allocations.index(allocation)
        if not isinstance(allocation, SharedAllocation):
            self._freed[allocation.nbytes].append(number)
        self.allocations[number] = Allocation(allocation.name, address, np.zeros(0, np.uint8))
        self._digests.pop(number, None)
        return True

    def bytes_at(self, address: int, nbytes: int, *, written: bool = False) -> NDArray[np.uint8] | None:
        """Return bytes from an address on, None where not all of them are allocated."""
        allocation = self.holding(address, address + nbytes)
        if allocation is None:
            return None
        if written:
            self._digests.pop(self.allocations.index(allocation), None)
        first = address - allocation.start
        return allocation.data[first : first + nbytes]

    # -- variables

    def variable(self, name: str, initial: bytes) -> int:
        """Return the address of a variable that the program names; what the program has in it is what it begins as."""
        for symbol, address in self._variables.items():
            if identifiers(symbol)[-1] == name:
                return address
        allocation = self.place(name, np.frombuffer(initial, np.uint8))
        self._variables[name] = allocation.start
        return allocation.start

    def symbols(self, kernel: Kernel, text: str) -> dict[str, int]:
        """Return the addresses of the variables that a kernel uses, new ones filled with what they begin as.

        Literals have names of their own in each ``text`` of PTX.
        """
        found: dict[str, int] = {}
        fresh: list[tuple[Allocation, dict[int, str]]] = []
        waiting = list(kernel.constants)
        while waiting:
            variable = waiting.pop()
            if variable.name in found:
                continue
            data, pointers = initial_bytes(variable)
            found[variable.name], is_new = self._address(variable, data, text)
            if is_new:
                fresh.append((self.allocations[-1], pointers))
            variables = kernel.module.variables
            waiting += [variables[name] for name in pointers.values() if name in variables]
        for allocation, pointers in fresh:
            for at, name in pointers.items():
                allocation.views[8][at // 8] += found.get(name, 0)
        return found

    def _address(self, variable: Variable, data: NDArray[np.uint8], text: str) -> tuple[int, bool]:
        name = variable.name
        key = f"{name} {hash(text)}" if name.startswith(("$", "__")) else name
        known = self._variables.get(key)
        if known is None:
            known = self._variables.get(identifiers(name)[-1])
        if known is not None:
            self._variables[key] = known
            return known, False
        self._variables[key] = self.place(name, data).start
        return self._variables[key], True

    # -- what a launch finds, and what it leaves

    def digest(self, pointers: set[int]) -> bytes:
        """Return what tells the bytes of all memory apart; ``pointers`` are the numbers that a kernel is passed."""
        whole = hashlib.blake2b(digest_size=16)
        for number, allocation in enumerate(self.allocations):
            if isinstance(allocation, SharedAllocation):
                if allocation.pinned and not any(0 <= p - allocation.start < allocation.nbytes for p in pointers):
                    continue
                self._digests.pop(number, None)
            whole.update(self.digest_of(number))
        return whole.digest()

    def digest_of(self, number: int) -> bytes:
        """Return what tells the bytes of one allocation apart, as they were when the last launch was asked for."""
        if number not in self._digests:
            self._digests[number] = hashlib.blake2b(self.allocations[number].data.data, digest_size=16).digest()
        return self._digests[number]

    def touched(self, numbers: set[int]) -> None:
        """Take note that allocations may have changed."""
        for number in numbers:
            self._digests.pop(number, None)
