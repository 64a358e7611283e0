"""The launches of a ``.cu`` file's ``main()`` on the GPU, where its memory has the addresses that the program knows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from types import TracebackType
from typing import Any, Self

import numpy as np
from cuda.bindings import driver
from numba import cuda
from numpy.typing import NDArray

from smemviz.engines.cpp_host.memory import DeviceMemory
from smemviz.engines.gpu.device import device
from smemviz.engines.gpu.preflight import LIMITS, Preflight, not_run
from smemviz.engines.gpu.ptx.driver import DriverError, Gpu, checked
from smemviz.engines.gpu.ptx.ptx_launch import clean, record_bound
from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.ptx.host.cuda_launch import Prepared, execute
from smemviz.engines.lockstep.ptx.host.entry import Variables
from smemviz.engines.lockstep.ptx.host.layout import written_allocations
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.memory import WINDOW, Allocation, GlobalMemory
from smemviz.engines.lockstep.running_launch import Place
from smemviz.engines.options import LaunchOptions
from smemviz.engines.recorder import LaunchOutcome
from smemviz.errors import LaunchError, MissingError
from smemviz.recordings.data import ArrayInfo
from smemviz.recordings.findings import Finding

_ONE_AT_A_TIME = Lock()  # the addresses of programs are the same


class ProgramOnGpu:
    """Makes the launches of one program; its memory is on the GPU as long as the statement runs.

    Raises:
        MissingError: when there is no GPU, or it has other memory at these addresses.
    """

    def __init__(self) -> None:
        device()
        cuda.current_context()
        self._preflight = Preflight()
        self._on_gpu: _OnGpu | None = None

    def __enter__(self) -> Self:
        _ONE_AT_A_TIME.acquire()
        try:
            self._on_gpu = _OnGpu()
        except BaseException:
            _ONE_AT_A_TIME.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._on_gpu is not None
        self._on_gpu.close()
        _ONE_AT_A_TIME.release()

    def __call__(
        self,
        ready: Prepared,
        configuration: Configuration,
        memory: DeviceMemory,
        parameters: dict[str, NDArray[np.uint8]],
        symbols: Mapping[str, int],
        arrays: tuple[ArrayInfo, ...],
        place: Place,
        options: LaunchOptions,
    ) -> LaunchOutcome:
        """Make one launch, unless it would do harm; what it writes is then in ``memory`` too.

        Raises:
            LaunchError: when the GPU does not make it.
            UnsupportedError: for an instruction that is not followed, at the line that it comes from.
        """
        assert self._on_gpu is not None
        if options.progress is not None and options.recorded:
            options.progress(options.number, options.number + 1, ready.entry.name)

        def in_lockstep(copies: Sequence[Any]) -> tuple[Finding, ...]:
            copied = GlobalMemory()
            for known, data in zip(memory.allocations, copies, strict=True):
                copied.allocations.append(Allocation(known.name, known.start, data[: known.nbytes]))
            looking = LaunchOptions(limits=LIMITS, number=options.number, recorded=False)
            return execute(ready, configuration, copied, parameters, symbols, arrays, place, looking)[1]

        findings = self._preflight.check(configuration, [known.data for known in memory.allocations], in_lockstep)
        if any(finding.is_unsafe for finding in findings):
            return None, tuple(map(not_run, findings))
        ready = replace(ready, entry=replace(ready.entry, variables=_ProgramVariables(memory, symbols)))
        written = written_allocations(ready.kernel, memory, parameters, symbols)
        given = _Given(self._on_gpu, memory, parameters, arrays, written, set(symbols.values()))
        card, log_bytes, logged = _Card(given), options.log_bytes, options.logged
        try:
            self._on_gpu.take(memory)
            if options.recorded:
                return record_bound(card, ready, configuration, given, place, log_bytes, logged), findings
            clean(card, ready, configuration, given)
        except DriverError as error:
            raise LaunchError(*place, str(error)) from None
        return None, findings


class _OnGpu:
    """A program's allocations on the GPU, by their numbers, each at its own address."""

    def __init__(self) -> None:
        where = driver.CUmemAllocationProp()
        where.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        where.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        where.location.id = cuda.get_current_device().id
        self._where = where
        smallest = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        self._unit = int(checked(driver.cuMemGetAllocationGranularity(where, smallest)))
        self._mapped: dict[int, tuple[int, int, Any]] = {}  # address, bytes and handle
        self._known: dict[int, bytes] = {}  # what tells the bytes of an allocation apart that are there
        first, size = WINDOW
        error, self._first = driver.cuMemAddressReserve(size, 0, first, 0)
        if error != driver.CUresult.CUDA_SUCCESS or int(self._first) != first:
            if error == driver.CUresult.CUDA_SUCCESS:
                driver.cuMemAddressFree(self._first, size)
            raise MissingError("the GPU's driver does not give main() its addresses; use --engine lockstep")

    def take(self, memory: DeviceMemory) -> None:
        """Have every allocation on the GPU as it is in memory."""
        for number, allocation in enumerate(memory.allocations):
            size = -(-allocation.nbytes // self._unit) * self._unit
            if size != self._mapped.get(number, (0, 0, None))[1]:
                self._map(number, allocation.start, size)
            digest = memory.digest_of(number)
            if self._known.get(number) != digest:
                self.write(number, allocation)
                self._known[number] = digest

    def _map(self, number: int, address: int, size: int) -> None:
        self._unmap(number)
        if not size:
            return
        handle = checked(driver.cuMemCreate(size, self._where, 0))
        self._mapped[number] = address, size, handle
        checked(driver.cuMemMap(address, size, 0, handle, 0))
        access = driver.CUmemAccessDesc()
        access.location = self._where.location
        access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        checked(driver.cuMemSetAccess(address, size, [access], 1))

    def _unmap(self, number: int) -> None:
        self._known.pop(number, None)
        if number in self._mapped:
            address, size, handle = self._mapped.pop(number)
            driver.cuMemUnmap(address, size)
            driver.cuMemRelease(handle)

    def write(self, number: int, allocation: Allocation) -> None:
        """Put the bytes of an allocation there."""
        self._known.pop(number, None)
        if allocation.nbytes:
            checked(driver.cuMemcpyHtoD(allocation.start, allocation.data.ctypes.data, allocation.nbytes))

    def read(self, number: int, allocation: Allocation) -> NDArray[np.uint8]:
        """Return the bytes that an allocation has there, which may be others than in memory from now on."""
        self._known.pop(number, None)
        data = np.empty(allocation.nbytes, np.uint8)
        if allocation.nbytes:
            checked(driver.cuMemcpyDtoH(data.ctypes.data, allocation.start, data.nbytes))
        return data

    def close(self) -> None:
        """Give all of it back."""
        for number in tuple(self._mapped):
            self._unmap(number)
        driver.cuMemAddressFree(self._first, WINDOW[1])


@dataclass
class _Given:
    """What a launch of a program was given; of its ``symbols``, variables, the module of a kernel has its own bytes."""

    on_gpu: _OnGpu
    memory: DeviceMemory
    parameters: dict[str, NDArray[np.uint8]]
    known: tuple[ArrayInfo, ...]
    written: set[int]
    symbols: set[int]
    _before: dict[int, NDArray[np.uint8]] = field(init=False)

    def __post_init__(self) -> None:
        self._before = {
            number: self.memory.allocations[number].data.copy()
            for number in self.written
            if self.memory.allocations[number].start in self.symbols
        }

    def arrays(self, line: int) -> tuple[ArrayInfo, ...]:
        """Return the arrays as a recording has them."""
        return self.known

    def restore(self) -> None:
        """Put what the kernel may write back as it was."""
        for number in self.written:
            self.on_gpu.write(number, self.memory.allocations[number])

    def copy_back(self) -> None:
        """Bring what the kernel wrote into memory; of a variable that it did not write by an address, leave it."""
        for number in self.written:
            allocation = self.memory.allocations[number]
            data = self.on_gpu.read(number, allocation)
            if number not in self._before or not np.array_equal(data, self._before[number][: len(data)]):
                allocation.data[: len(data)] = data


class _Card(Gpu):
    """The GPU with what one launch of a program was given."""

    def __init__(self, given: _Given) -> None:
        super().__init__()
        self._given = given

    def restore(self) -> None:
        """Put what the kernel may write back as it was."""
        self._given.restore()


class _ProgramVariables(Variables):
    """A program's variables, which are in its memory."""

    def __init__(self, memory: DeviceMemory, symbols: Mapping[str, int]) -> None:
        super().__init__()
        self._memory = memory
        self._symbols = symbols

    def of_kernel(self, kernel: Kernel) -> dict[str, NDArray[np.uint8]]:
        """Return those that a kernel names, as views of memory."""
        found = {}
        for variable in kernel.constants:
            data = self._memory.bytes_at(self._symbols[variable.name], variable.size)
            assert data is not None
            found[variable.name] = data
        return found
