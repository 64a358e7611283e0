"""One launch of a Numba kernel: compiled with marks at its accesses, and made with its PTX rewritten to report them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from cuda.core import ObjectCode
from numba import cuda
from numba.cuda.args import ArgHint
from numba.cuda.cudadrv import driver
from numba.cuda.cudadrv.devicearray import DeviceNDArray
from numba.cuda.dispatcher import _Kernel
from numpy.typing import NDArray

from smemviz.engines.gpu.device import GpuMemory, device
from smemviz.engines.gpu.marks import marking_functions
from smemviz.engines.gpu.ptx.accesses import Marks
from smemviz.engines.gpu.ptx.driver import assembled, assembling
from smemviz.engines.gpu.ptx.instrument import MODES, NAME, Mode, instrumented
from smemviz.engines.gpu.ptx.passes import Passes
from smemviz.engines.gpu.ptx.ptx_text import calls_elsewhere
from smemviz.engines.instrument import instrument, python_function
from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.machine_code.accessors import without_rounds
from smemviz.engines.lockstep.memory.shared import place
from smemviz.engines.lockstep.ptx.code.module import PtxError
from smemviz.engines.lockstep.ptx.code.parse import parse
from smemviz.engines.lockstep.ptx.host.arguments import Buffer
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.selection import Blocks
from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.python_functions import Function
from smemviz.frontends.numba.sites import SiteTable, find_sites
from smemviz.frontends.numba.sites.fields import dtype_name
from smemviz.recordings.data import ArrayInfo, Launch


class MarkedKernel:
    """A kernel and everything it calls, with its accesses marked; Numba compiles it at the first launch."""

    def __init__(
        self, function: Function, arguments: Sequence[object], options: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        self.function = function
        self.table: SiteTable = find_sites(function, arguments)
        self._dispatcher = cuda.jit(**options)(marked(self.table))
        self._compiled: Any = None
        self._texts: dict[tuple[Mode, int], str] = {}
        self._reporting: dict[tuple[Mode, int], Any] = {}

    def prepare(self, threads: int, arguments: Sequence[Any]) -> None:
        """Have Numba compile the kernel, once, and the driver begin with the kernels of every mode, for such blocks."""
        if ("count", threads) in self._texts:
            return
        if self._compiled is None:
            types = tuple(map(self._dispatcher.typeof_pyval, arguments))
            # Linked without optimization, which is of what LLVM has, not of the PTX.
            options = {**self._dispatcher.targetoptions, "lto": False}
            self._compiled = _Kernel(self._dispatcher.py_func, types, **options)
        ptx, name = self._compiled.library.get_asm_str(), self._compiled.entry_name
        for mode in MODES:
            try:
                text = rewritten(ptx, name, self.table, mode, threads, device().compute_capability)
            except PtxError as error:
                raise UnsupportedError(self.function.file, self.function.node.lineno, error.what) from None
            if not calls_elsewhere(text):
                assembling(text)
            self._texts[mode, threads] = text

    def launch(self, mode: Mode, configuration: Configuration, arguments: Sequence[Any], launch: Buffer) -> None:
        """Make a launch with the kernel of a mode, which is told of it."""
        threads = math.prod(configuration.block)
        if (mode, threads) not in self._reporting:
            self.prepare(threads, arguments)
            self._reporting[mode, threads] = self._kernel(self._texts[mode, threads])
        shape = self._dispatcher.configure(configuration.grid, configuration.block, 0, configuration.dynamic_shared)
        given = (*arguments, launch.start)
        self._reporting[mode, threads].launch(given, shape.griddim, shape.blockdim, shape.stream, shape.sharedmem)
        cuda.synchronize()

    def _kernel(self, ptx: str) -> Any:
        """Return what Numba compiled with its PTX rewritten before it is linked, which has one parameter more."""
        library, kernel = _copied(self._compiled.library), _copied(self._compiled)
        library._ptx_cache = {target: [ptx] for target in library._ptx_cache}
        library._cubin_cache, library._linkerinfo_cache, library._cufunc_cache = {}, {}, {}
        if not calls_elsewhere(ptx):
            # As a whole: lanes that part do not meet again as well where functions follow the conventions of linking.
            code = assembled(ptx)
            library._cubin_cache = {target: ObjectCode.from_cubin(code) for target in library._ptx_cache}
        library._entry_name = NAME
        kernel._codelibrary = library
        kernel.signature = kernel.signature.replace(args=(*kernel.argument_types, cuda.types.uint64))
        return kernel


def _copied(value: Any) -> Any:
    """Return a copy of an object, of which pickle would make another one."""
    copied = object.__new__(type(value))
    vars(copied).update(vars(value))
    return copied


def rewritten(ptx: str, name: str, table: SiteTable, mode: Mode, threads: int, capability: tuple[int, int]) -> str:
    """Return the PTX of a marked kernel as it reports its accesses, in blocks of so many threads at most.

    Raises:
        PtxError: for what cannot be rewritten.
    """
    kernel = Kernel(parse(without_rounds(ptx)), name, linked=True)
    return instrumented(kernel, ptx, Marks(table.sites), mode, threads, capability)


def marked(table: SiteTable) -> Any:
    """Return a kernel whose accesses are marked, as a function for Numba."""
    return python_function(instrument(table), marking_functions(table.sites))


class NumbaPasses(Passes):
    """The passes of a launch of a Numba kernel."""

    def __init__(
        self,
        kernel: MarkedKernel,
        configuration: Configuration,
        arguments: Arguments,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(GpuMemory(), kernel.table.sites, configuration, len(kernel.table.declarations))
        self._kernel = kernel
        self._arguments = arguments
        self._meanwhile = meanwhile

    def prepare(self) -> None:
        """Compile the kernel, begin to assemble what reports its accesses, and do what there is to do meanwhile."""
        self._kernel.prepare(math.prod(self.configuration.block), self._arguments.values)
        self._meanwhile()

    def run(self, mode: Mode, launch: Buffer) -> None:
        """Launch the kernel of a mode."""
        self._kernel.launch(mode, self.configuration, self._arguments.values, launch)
        self._arguments.restore()

    def arrays(self, starts: Sequence[int]) -> tuple[ArrayInfo, ...]:
        """Return the shared arrays that the kernel declares, and the arrays among its arguments."""
        declared = self._kernel.table.declarations
        placed = place(declared, range(len(declared)), self.configuration.dynamic_shared).placed
        shared = (replace(array, address=start) for array, start in zip(placed, starts, strict=False))
        return (*shared, *self._arguments.arrays(self._kernel.function))

    def stored(
        self, site: int, addresses: NDArray[np.int64], bits: NDArray[np.uint64], shared: Sequence[ArrayInfo]
    ) -> NDArray[np.float64]:
        """Return the numbers that were stored, which marks give as float64."""
        return bits.view(np.float64)


def count(
    kernel: MarkedKernel,
    configuration: Configuration,
    arguments: Sequence[Any],
    log_bytes: int,
    logged: Blocks | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> Launch:
    """Make the passes of a launch and return what they saw; the arguments end as they began.

    ``logged`` are the blocks to log in full; None means all where they fit, else the first, the middle and the last.
    ``meanwhile`` is called while the driver assembles.

    Raises:
        LaunchError: when the grid does not have them.
    """
    function, line = kernel.function, kernel.function.node.lineno
    with Arguments(arguments) as on_device:
        passes = NumbaPasses(kernel, configuration, on_device, meanwhile)
        requests, totals, arrays = passes.record(((function.file, line), function.name), log_bytes, logged)
    static = max((a.address + a.nbytes for a in arrays if a.is_shared and not a.dynamic), default=0)
    start = min((a.address for a in arrays if a.is_shared), default=0)
    dynamic_start = min((a.address for a in arrays if a.is_shared and a.dynamic), default=static)
    shared_bytes = max(static, dynamic_start + configuration.dynamic_shared) - start if arrays else 0
    return configuration.launched(function.name, line, shared_bytes, kernel.table.sites, arrays, requests, totals)


class Arguments:
    """A launch's arguments on the device, with a copy to put them back from."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        self.values = [self._on_device(value) for value in arguments]
        self._copies: list[tuple[Any, Any]] = []
        for array in arrays_in(self.values):
            if array.alloc_size:
                copy = cuda.device_array(array.alloc_size, np.uint8)
                driver.device_to_device(copy, array, array.alloc_size)
                self._copies.append((array, copy))

    def __enter__(self) -> Arguments:
        return self

    def __exit__(self, *_: object) -> None:
        self._copies.clear()

    def restore(self) -> None:
        """Put every array back as it was before the first pass."""
        for array, copy in self._copies:
            driver.device_to_device(array, copy, array.alloc_size)

    def arrays(self, function: Function) -> Iterator[ArrayInfo]:
        """Describe the arrays among the arguments, by the parameters' names."""
        for name, array in self.arrays_by_name(function):
            yield ArrayInfo(
                name=name,
                space="global",
                shape=tuple(array.shape),
                strides=tuple(array.strides),
                dtype=dtype_name(array.dtype),
                address=int(array.__cuda_array_interface__["data"][0]),
                line=function.node.lineno,
            )

    def arrays_by_name(self, function: Function) -> Iterator[tuple[str, Any]]:
        """Name the arrays among the arguments as the kernel's parameters."""
        names = [a.arg for a in (*function.node.args.posonlyargs, *function.node.args.args)]
        for name, value in zip(names, self.values, strict=False):
            yield from _named_parts(name, value)

    def _on_device(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self._on_device(item) for item in value)
        if isinstance(value, np.ndarray):
            return cuda.to_device(value)
        if isinstance(value, DeviceNDArray):  # as_cuda_array would lose the fields of records
            return value
        return cuda.as_cuda_array(value) if hasattr(value, "__cuda_array_interface__") else value


def without_hints(arguments: Sequence[Any]) -> list[Any]:
    """Return the arguments of a launch without what says which arrays are copied, as ``cuda.In(a)`` does."""
    return [value.value if isinstance(value, ArgHint) else value for value in arguments]


def arrays_in(values: Sequence[Any]) -> Iterator[Any]:
    """Return the arrays among arguments, those in tuples too."""
    for value in values:
        for _, array in _named_parts("", value):
            yield array


def _named_parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _named_parts(f"{name}[{index}]", item)
    elif hasattr(value, "__cuda_array_interface__"):
        yield name, value
