"""What an instrumented Numba kernel counts, without a GPU: its PTX for compute capability 9.0, interpreted."""

import math

import numpy as np

from helpers.numba_ptx import compiled, run_ptx
from smemviz.engines.gpu import passes, request_classes
from smemviz.engines.gpu import probes as probe
from smemviz.engines.gpu.instrument import instrument
from smemviz.engines.host import configuration
from smemviz.frontends.numba.functions import function_of
from smemviz.frontends.numba.sites import find_sites


def counted(kernel, grid, block, arguments):
    """Return the totals of a launch, and its sites; arrays among the arguments are written as the kernel does."""
    function = function_of(kernel.py_func)
    table = find_sites(function, arguments)
    launched = configuration(("", 1), (grid, block))
    shape = request_classes.shape_of_counts(table.sites)
    counts = np.zeros(math.prod(shape), np.int64)
    warps = math.prod(launched.grid) * -(-math.prod(launched.block) // 32)
    rows = (np.zeros((1, width), dtype) for width, dtype in ((probe.FACTS, np.int64), (32, np.int64), (32, float)))
    used, epochs = np.zeros(warps, np.int32), np.zeros(warps, np.int32)
    bases = np.zeros(max(len(table.declarations), 1), np.int64)
    sizes = tuple(np.int32(size) for size in shape)
    log = (used, epochs, np.zeros(1, np.int64), *rows, bases)
    launch = (np.int32(probe.COUNT), np.zeros(1, np.bool_), sizes, counts, *log)
    given = (*arguments, launch)
    run_ptx(compiled(lambda: passes._compiled(instrument(table), probe.probes(table.sites)), given), given, block, grid)
    return request_classes.totals(table.sites, counts.reshape(shape)), table.sites
