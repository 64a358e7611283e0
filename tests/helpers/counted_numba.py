"""What an instrumented Numba kernel counts, without a GPU: its PTX for compute capability 9.0, interpreted."""

from types import SimpleNamespace

import numpy as np

from helpers.numba_ptx import ENTRY, as_parameters, bring_back, compiled
from helpers.ptx_card import LockstepCard
from smemviz.engines.gpu.numba_launch import marked, rewritten
from smemviz.engines.gpu.ptx.instrument import NAME
from smemviz.engines.gpu.ptx.passes import Passes
from smemviz.engines.gpu.ptx.ptx_launch import Kernel
from smemviz.engines.launch_shape import configuration
from smemviz.frontends.numba.python_functions import function_of
from smemviz.frontends.numba.sites import find_sites


class InterpretedPasses(Passes):
    """The passes of a launch that the interpreter of PTX makes, rewritten for a compute capability."""

    capability = (9, 0)

    def __init__(self, table, ptx, launched, arguments):
        self.card = LockstepCard(SimpleNamespace(compiled=SimpleNamespace(shared=()), symbol=NAME, line=1))
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
    ptx = compiled(lambda: marked(table), (*arguments, np.uint64(0)))
    return InterpretedPasses(table, ptx, configuration(("", 1), (grid, block)), arguments)
