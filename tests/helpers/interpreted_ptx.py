"""What a GPU does, without one: PTX run by the interpreter, what Numba makes of a kernel, and what its passes count."""

import importlib.util
import re
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from smemviz.engines.gpu.numba_launch import marked, rewritten
from smemviz.engines.gpu.ptx.instrument import NAME
from smemviz.engines.gpu.ptx.passes import Passes
from smemviz.engines.gpu.ptx.ptx_launch import Kernel
from smemviz.engines.launch_shape import configuration
from smemviz.engines.lockstep.machine_code.compiling import ptx_of as compiled
from smemviz.engines.lockstep.machine_code.compiling import types_of
from smemviz.engines.lockstep.ptx.code.parse import parse
from smemviz.engines.lockstep.ptx.host.cuda_launch import place_variables
from smemviz.engines.lockstep.ptx.host.entry import Variables
from smemviz.engines.lockstep.ptx.host.layout import place_shared
from smemviz.engines.lockstep.ptx.kernel import Kernel as Entry
from smemviz.engines.lockstep.ptx.machine import WORKSPACE_BYTES, Machine
from smemviz.engines.lockstep.ptx.memory import GlobalMemory
from smemviz.engines.lockstep.ptx.scheduler import Scheduler
from smemviz.engines.lockstep.ptx.sites import SiteMap
from smemviz.engines.lockstep.ptx.steps import steps_of
from smemviz.engines.options import LaunchOptions
from smemviz.frontends.numba.python_functions import function_of
from smemviz.frontends.numba.sites import find_sites


class LockstepCard:
    """Runs PTX in lockstep; ``outputs`` are what each run left in the arrays that were placed."""

    compute_capability = (9, 0)

    def __init__(self, entry):
        self.entry = entry
        self.memory = GlobalMemory()
        self.placed = []
        self.outputs = []

    def place(self, name, data):
        held = self.memory.place(name, data)
        self.placed.append((held, data.copy()))
        return held

    def reserve(self, nbytes, fill):
        return self.memory.place("", np.full(max(1, nbytes), fill, np.uint8))

    def reserve_with(self, data):
        return self.memory.place("", data)

    def restore(self):
        for held, data in self.placed:
            held.data[: len(data)] = data

    def prepare(self, kernel):
        pass

    def run(self, kernel, configuration, parameters):
        module = parse(kernel.ptx)
        entry = Entry(module, kernel.name)
        steps = steps_of(entry)
        layout, variables = place_shared(entry, self.entry, configuration.dynamic_shared)
        named = dict(zip((one.name for one in entry.function.parameters), parameters, strict=True))
        modules = Variables()
        modules._by_name = kernel.variables
        symbols = place_variables(entry, self.memory, modules)
        sites = SiteMap(entry, "", {})
        machine = Machine(
            "",
            entry,
            configuration,
            layout,
            sites,
            {},
            ("", 0),
            LaunchOptions(recorded=False),
            self.memory,
            named,
            symbols | variables,
            grid_workspace=self.reserve(WORKSPACE_BYTES, 0).start if kernel.cooperative else None,
        )
        machine.run(Scheduler(machine, steps, 1_000_000).run, together=True)
        modules.keep(entry, self.memory)
        assert not machine.findings.all()
        self.outputs.append([held.data[: len(data)].copy() for held, data in self.placed])


ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(")
_PLACE = ("kernels/mine.py", 1)


def compiles():
    """Tell whether Numba compiles for a GPU on this machine."""
    try:
        ptx_of("from numba import cuda\n@cuda.jit\ndef kernel():\n    pass\n", [])
    except Exception:
        return False
    return True


def ptx_of(source, args, name="kernel"):
    """Return what numba-cuda compiles a kernel of a file to, for arguments like these; its error is raised."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mine.py"
        file.write_text(source, encoding="utf-8")

        def load():
            spec = importlib.util.spec_from_file_location("mine", file)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return getattr(module, name).py_func

        return compiled(load, types_of(args))


def run_ptx(ptx, args, block=8, grid=1):
    """Run it; arrays among ``args``, those in tuples too, are written as it writes them."""
    name = ENTRY.search(ptx)[1]
    card = LockstepCard(SimpleNamespace(compiled=SimpleNamespace(shared=(), pieces=()), symbol=name, line=1))
    held = []
    parameters = list(as_parameters(card, args, held))
    card.run(Kernel(ptx, name, cooperative=False), configuration(_PLACE, (grid, block)), parameters)
    bring_back(held)


def bring_back(held):
    """Bring what was written on a card back to the arrays that were noted."""
    for array, place in held:
        array.reshape(-1).view(np.uint8)[:] = place.data[: array.nbytes]


def as_parameters(card, values, held):
    """Give the parameters that arguments become, as bytes; arrays are noted with the places that they get."""
    for value in values:
        if isinstance(value, tuple):
            yield from as_parameters(card, value, held)
        elif isinstance(value, np.ndarray):
            assert value.flags.c_contiguous
            place = card.place("", value.reshape(-1).view(np.uint8))
            held.append((value, place))
            words = [0, 0, value.size, value.itemsize, place.start, *value.shape, *value.strides]
            yield from (np.array([word], np.int64).view(np.uint8) for word in words)
        else:
            dtype = {int: np.int64, float: np.float64}.get(type(value))
            yield np.array([value], dtype).view(np.uint8)


class InterpretedPasses(Passes):
    """The passes of a launch that the interpreter of PTX makes, rewritten for a compute capability."""

    capability = (9, 0)

    def __init__(self, table, ptx, launched, arguments):
        self.card = LockstepCard(SimpleNamespace(compiled=SimpleNamespace(shared=(), pieces=()), symbol=NAME, line=1))
        super().__init__(self.card, table.sites, launched, len(table.declarations))
        self.table, self.ptx = table, ptx
        self.held = []
        self.parameters = list(as_parameters(self.card, arguments, self.held))

    def prepare(self):
        pass

    def run(self, mode, launch):
        threads = int(np.prod(self.configuration.block))
        ptx = rewritten(self.ptx, ENTRY.search(self.ptx)[1], self.table, mode, threads, self.capability)
        pointer = np.array([launch.start], np.uint64).view(np.uint8)
        self.card.run(Kernel(ptx, NAME, cooperative=False), self.configuration, [*self.parameters, pointer])
        bring_back(self.held)
        self.card.restore()

    def arrays(self, starts):
        return ()

    def stored(self, site, addresses, bits, shared):
        return bits.view(np.float64)


def passes_of(kernel, grid, block, arguments):
    """Return the passes of a launch; arrays among the arguments are written as each of them writes them."""
    table = find_sites(function_of(kernel.py_func), arguments)
    ptx = compiled(lambda: marked(table), types_of(arguments))
    return InterpretedPasses(table, ptx, configuration(("", 1), (grid, block)), arguments)
