"""The launches of a program: checked as a device does, then made, or copied where one was the same before."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.backend import After
from smemviz.engines.cpp_host.building import shown
from smemviz.engines.cpp_host.memory import DeviceMemory
from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.log import ROW_BYTES
from smemviz.engines.lockstep.ptx.host.cuda_launch import Prepared, execute, prepare
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.engines.lockstep.ptx.host.layout import written_allocations
from smemviz.engines.lockstep.running_launch import COMPUTE_CAPABILITY, Place
from smemviz.engines.options import LaunchOptions
from smemviz.engines.recorder import LaunchOutcome, Recorder
from smemviz.errors import KernelFileError, RefusedLaunchError, UnsupportedError
from smemviz.frontends.cuda.compiling import Compiled, compile_program
from smemviz.frontends.cuda.cuda_program import CudaProgram
from smemviz.frontends.cuda.text.cuda_functions import Function, find_kernels
from smemviz.messages import english
from smemviz.model.hardware.compute_capability import device
from smemviz.recordings.data import ArrayInfo
from smemviz.recordings.findings import Finding

# The mangled name of the class that a kernel's stub declares.
_LOCAL = re.compile(r"\*?Z(?P<function>.+)E4here(?:_\d*)?")

_FUNCTION = re.compile(r"\(?&\(([\w:]+)\([^()]*\)\)\)?")  # an argument of a template that is a function, with its types


@dataclass(frozen=True)
class HostEntry(Entry):
    """A kernel that a program launches: ``function`` is its definition, ``file`` where that stands."""

    function: Function
    file: str
    cooperative: bool = False

    @property
    def line(self) -> int:
        """Where it is defined."""
        return self.function.line

    @property
    def is_cooperative(self) -> bool:
        """Whether its blocks may wait for each other: it was launched for that."""
        return self.cooperative


@dataclass
class Kernels:
    """The kernels of a program and of the headers of its own, the text of each file by its path.

    ``names`` are what C++ calls those that it may launch: they are compiled together.
    """

    program: CudaProgram
    texts: dict[Path, str]
    names: tuple[str, ...] = ()
    _known: dict[str, HostEntry] = field(default_factory=dict)
    _compiled: list[Compiled] = field(default_factory=list)
    _functions: dict[str, tuple[str, Function]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path, text in self.texts.items():
            for function in find_kernels(text):
                self._functions.setdefault(function.name, (shown(self.program, str(path)), function))

    def defines(self, name: str) -> bool:
        """Tell whether a kernel stands in these files, by its name in C++."""
        return _plain(expression(name)) in self._functions

    def entry(self, name: str, mangled: str, place: tuple[str, int]) -> HostEntry:
        """Return a kernel by its name, ``void copy<float>(float*)``, and by that of the class its stub declares.

        Raises:
            KernelFileError: when it does not compile for the device.
            UnsupportedError: when it has a name that cannot be written.
        """
        if mangled not in self._known:
            self._known[mangled] = self._entry(expression(name), mangled, place)
        return self._known[mangled]

    def _entry(self, name: str, mangled: str, place: tuple[str, int]) -> HostEntry:
        plain = _plain(name)
        if plain not in self._functions or "{lambda" in name:
            what = english("the kernel {name} is not found in the text; write its launches in comments", name=name)
            raise UnsupportedError(*place, what)
        file, function = self._functions[plain]
        match = _LOCAL.fullmatch(mangled)
        symbol = f"_Z{match['function']}" if match else ""
        if match and (own := re.fullmatch(r"(\d+)(\w+)", match["function"])) and int(own[1]) == len(own[2]):
            symbol = own[2]  # extern "C"
        for compiled in self._compiled:
            if re.search(rf"\.entry {re.escape(symbol)}\(", compiled.ptx):
                return HostEntry(self.program, replace(compiled, names={name: symbol}), name, function, file)
            if name in compiled.names:
                return HostEntry(self.program, compiled, name, function, file)
        self._compiled.append(self._compile(name))
        return HostEntry(self.program, self._compiled[-1], name, function, file)

    def _compile(self, name: str) -> Compiled:
        """Compile a kernel with all that may be launched, alone where one of the others does not compile."""
        together = dict.fromkeys([name, *(expression(other) for other in self.names if "{lambda" not in other)])
        try:
            return compile_program(self.program, list(together), self.program.view)
        except KernelFileError:
            return compile_program(self.program, [name], self.program.view)


def _plain(name: str) -> str:
    return name.partition("<")[0].rpartition("::")[2]


def expression(name: str) -> str:
    """Return what names a kernel in C++: ``copy<float>`` for ``void copy<float>(float*)``."""
    depth, end = 0, len(name)
    for at, character in enumerate(name):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0 and not name.startswith("(anonymous", at):
            end = at
            break
    return _FUNCTION.sub(r"\1", name[:end].removeprefix("void ").replace("(anonymous namespace)::", ""))


INVALID_VALUE, INVALID_CONFIGURATION, ILLEGAL_ADDRESS, ASSERTED, FAILED = 1, 9, 716, 710, 719
_ENDING = {"assertion": ASSERTED, "trap": FAILED, "deadlock": FAILED, "misaligned": ILLEGAL_ADDRESS}
_MOST_KEPT = 1 << 30  # bytes of what launches left in memory


@dataclass(frozen=True)
class Asked:
    """A launch as the program asks for it: ``leave`` is how much dynamic shared memory its kernel was allowed."""

    name: str
    mangled: str
    place: Place
    configuration: Configuration
    leave: int
    cooperative: bool
    parameters: tuple[bytes, ...]


@dataclass(frozen=True)
class _Done:
    """What a launch did: its outcome, its number in the recording, and what it left in allocations by their numbers."""

    outcome: LaunchOutcome
    number: int | None
    left: tuple[tuple[int, NDArray[np.uint8]], ...]


# Makes a launch with a program's memory, in lockstep or on the GPU: a kernel, its shape, memory, bytes of parameters,
# the addresses of variables, the arrays that parameters point to, and where it stands.
Execute = Callable[
    [
        Prepared,
        Configuration,
        DeviceMemory,
        dict[str, NDArray[np.uint8]],
        Mapping[str, int],
        tuple[ArrayInfo, ...],
        Place,
        LaunchOptions,
    ],
    LaunchOutcome,
]


@dataclass
class Launches:
    """Makes the launches of a program, by lockstep's ``execute`` or the GPU's, and shows them to a recorder.

    ``kernels`` are those of each file that is linked, the first the one that the recording is of. ``after`` is called
    after each launch with the kernel's name and the memory that it may have written.
    """

    kernels: Sequence[Kernels]
    memory: DeviceMemory
    recorder: Recorder
    execute: Execute = execute
    after: After | None = None
    _done: dict[object, _Done] = field(default_factory=dict)
    _kept: int = 0

    def launch(self, asked: Asked) -> int:
        """Make a launch and return the number of the error that CUDA would have, 0 for none.

        Raises:
            UnsupportedError: for a kernel that is not executed in lockstep.
        """
        asked = replace(asked, place=(self._shown(asked.place[0]), asked.place[1]))
        findings: list[Finding] = []
        entry = self.entry(asked.name, asked.mangled, asked.place)
        main_file = self.kernels[0].program.file

        def make(options: LaunchOptions) -> LaunchOutcome:
            launch, met = self._made(entry, asked, options)
            findings.extend(met)
            return launch, met

        before = len(self.recorder.findings)
        made = self.recorder.make(entry.name, make, ROW_BYTES, entry.file or main_file)
        refused = self.recorder.findings[before:]
        if not made and not findings and refused:
            return INVALID_VALUE if self._wants_leave(entry, asked) else INVALID_CONFIGURATION
        return next((_ENDING[finding.kind] for finding in findings if finding.kind in _ENDING), 0)

    def entry(self, name: str, mangled: str, place: Place) -> HostEntry:
        """Return a kernel by its names: of the file that launches it, if that has it, else of another.

        Raises:
            KernelFileError: when it does not compile for the device.
            UnsupportedError: when it has a name that cannot be written.
        """
        known = [kernels for kernels in self.kernels if kernels.defines(name)] or self.kernels[:1]
        of_place = (kernels for kernels in known if kernels.program.file == place[0])
        return next(of_place, known[0]).entry(name, mangled, place)

    def _shown(self, file: str) -> str:
        """Return the name of a file of the user's as messages show it."""
        names = (shown(kernels.program, file) for kernels in self.kernels)
        return next((name for name in names if name != file), file)

    def _made(self, entry: HostEntry, asked: Asked, options: LaunchOptions) -> LaunchOutcome:
        if 0 in (*asked.configuration.grid, *asked.configuration.block):
            what = english('the grid or the block is empty. CUDA C++ calls it "invalid configuration argument".')
            raise RefusedLaunchError(*asked.place, what)
        entry = replace(entry, cooperative=asked.cooperative)
        ready = prepare(entry, asked.configuration, asked.place)
        if self._wants_leave(entry, asked):
            raise RefusedLaunchError(*asked.place, _without_leave(ready, asked))
        symbols = self.memory.symbols(ready.kernel, entry.compiled.ptx)
        parameters = _parameters(ready, asked.parameters)
        pointers = {int(p) for data in parameters.values() if len(data) % 8 == 0 for p in data.view(np.uint64)}
        key = (
            entry.file,
            entry.symbol,
            asked.configuration,
            asked.cooperative,
            asked.parameters,
            self.memory.digest(pointers),
        )
        done = self._done.get(key)
        if done is not None and (done.number is not None or not options.recorded):
            outcome = self._again(done)
            self._tell(entry.name, [number for number, _ in done.left])
            return outcome
        numbers = written_allocations(ready.kernel, self.memory, parameters, symbols)
        arrays = self._arrays(ready, parameters)
        outcome = self.execute(
            ready, asked.configuration, self.memory, parameters, symbols, arrays, asked.place, options
        )
        self.memory.touched(numbers)
        self._tell(entry.name, sorted(numbers))
        if not any(instruction.opcode == "vprintf" for instruction in ready.kernel.body):
            self._keep(key, outcome, options.number if options.recorded else None, numbers)
        return outcome

    def _tell(self, kernel: str, written: Sequence[int]) -> None:
        if self.after is not None:
            self.after(kernel, [self.memory.allocations[number].data for number in written])

    def _keep(self, key: object, outcome: LaunchOutcome, number: int | None, numbers: set[int]) -> None:
        size = sum(self.memory.allocations[n].nbytes for n in numbers)
        if self._kept + size <= _MOST_KEPT:
            self._kept += size
            left = tuple((n, self.memory.allocations[n].data.copy()) for n in sorted(numbers))
            self._done[key] = _Done(outcome, number, left)

    def _again(self, done: _Done) -> LaunchOutcome:
        for number, data in done.left:
            self.memory.allocations[number].data[:] = data
        self.memory.touched({number for number, _ in done.left})
        if self.recorder.picker.selection.launch is not None or done.number is None:
            return done.outcome
        launch = self.recorder.launches[done.number]
        self.recorder.launches[done.number] = replace(launch, repeats=launch.repeats + 1)
        return None, ()

    def _wants_leave(self, entry: HostEntry, asked: Asked) -> bool:
        """Tell whether a launch has more dynamic shared memory than its kernel was allowed."""
        static = entry_shared(entry)
        return asked.configuration.dynamic_shared > max(asked.leave, device(COMPUTE_CAPABILITY).static_shared - static)

    def _arrays(self, ready: Prepared, parameters: dict[str, NDArray[np.uint8]]) -> tuple[ArrayInfo, ...]:
        """Return the allocations that pointers among the parameters lead to, by the parameters' names."""
        entry = ready.entry
        assert isinstance(entry, HostEntry)
        known = {parameter.name: parameter for parameter in entry.compiled.parameters.get(entry.symbol, ())}
        found: dict[int, ArrayInfo] = {}
        for name, data in zip(entry.function.parameters, parameters.values(), strict=False):
            parameter = known.get(name)
            if len(data) != 8 or (parameter is not None and not parameter.pointer):
                continue
            address = int(data.view(np.uint64)[0])
            allocation = self.memory.holding(address, address)
            if allocation is not None and allocation.start not in found and allocation.nbytes:
                dtype = np.dtype((parameter.element.dtype if parameter else "") or "uint8")
                shape, strides = (allocation.nbytes // dtype.itemsize,), (dtype.itemsize,)
                found[allocation.start] = ArrayInfo(
                    name, "global", shape, strides, str(dtype), allocation.start, entry.line
                )
        return tuple(found.values())


def entry_shared(entry: HostEntry) -> int:
    """Return how many bytes of static shared memory a kernel has."""
    ready = prepare(entry, Configuration((1, 1, 1), (1, 1, 1), 0, 0), (entry.file, entry.line))
    return ready.layout.static


def _parameters(ready: Prepared, given: Sequence[bytes]) -> dict[str, NDArray[np.uint8]]:
    variables = ready.kernel.function.parameters
    return {
        variable.name: np.frombuffer(data[: variable.size].ljust(variable.size, b"\0"), np.uint8)
        for variable, data in zip(variables, given, strict=True)
    }


def _without_leave(ready: Prepared, asked: Asked) -> str:
    return english(
        "{static} bytes of static and {dynamic} of dynamic shared memory are more than 48 KiB, which a kernel must "
        "ask for: cudaFuncSetAttribute({kernel}, cudaFuncAttributeMaxDynamicSharedMemorySize, {dynamic}). "
        'CUDA C++ calls it "invalid argument".',
        static=ready.layout.static,
        dynamic=asked.configuration.dynamic_shared,
        kernel=ready.entry.plain,
    )
