"""A card that is the interpreter of PTX, so that what runs on a GPU can be run without one."""

import numpy as np

from smemviz.engines.lockstep.ptx.code.parse import parse
from smemviz.engines.lockstep.ptx.host.arguments import BoundArguments
from smemviz.engines.lockstep.ptx.host.cuda_launch import _memory
from smemviz.engines.lockstep.ptx.host.entry import Variables
from smemviz.engines.lockstep.ptx.host.layout import place_shared
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.machine import WORKSPACE_BYTES, Machine
from smemviz.engines.lockstep.ptx.memory import GlobalMemory
from smemviz.engines.lockstep.ptx.scheduler import Scheduler
from smemviz.engines.lockstep.ptx.sites import SiteMap
from smemviz.engines.lockstep.ptx.steps import steps_of
from smemviz.engines.options import LaunchOptions


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
        entry = Kernel(module, kernel.name)
        steps = steps_of(entry)
        layout, variables = place_shared(entry, self.entry, configuration.dynamic_shared)
        named = dict(zip((one.name for one in entry.function.parameters), parameters, strict=True))
        modules = Variables()
        modules._by_name = kernel.variables
        memory, symbols = _memory(entry, module, BoundArguments(self.memory, named), modules)
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
            memory,
            named,
            symbols | variables,
            grid_workspace=self.reserve(WORKSPACE_BYTES, 0).start if kernel.cooperative else None,
        )
        machine.run(Scheduler(machine, steps, 1_000_000).run, together=True)
        modules.keep(entry, memory)
        assert not machine.findings.all()
        self.outputs.append([held.data[: len(data)].copy() for held, data in self.placed])
