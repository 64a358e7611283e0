"""What an instrumented Numba kernel counts, without a GPU: its PTX for compute capability 9.0, interpreted."""

import math
import re
import warnings
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np

from helpers.ptx_card import LockstepCard
from smemviz.engines.gpu import passes, request_classes
from smemviz.engines.gpu import probes as probe
from smemviz.engines.gpu.instrument import instrument
from smemviz.engines.host import configuration
from smemviz.frontends.numba.functions import function_of
from smemviz.frontends.numba.sites import find_sites

_CC = (9, 0)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(")


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
    _run(_ptx(table, (*arguments, launch)), launched, (*arguments, launch))
    return request_classes.totals(table.sites, counts.reshape(shape)), table.sites


def _ptx(table, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from numba import cuda, typeof
        from numba.cuda import dispatcher

        device = SimpleNamespace(compute_capability=_CC)  # what it asks the GPU for
        with patch.object(dispatcher, "get_current_device", lambda: device):
            rewritten = passes._compiled(instrument(table), probe.probes(table.sites))
            return cuda.compile(rewritten, tuple(map(typeof, arguments)), device=False, cc=_CC, abi="numba")[0]


def _run(ptx, launched, arguments):
    name = _ENTRY.search(ptx)[1]
    card = LockstepCard(SimpleNamespace(compiled=SimpleNamespace(shared=()), symbol=name, line=1))
    held = []
    parameters = list(_parameters(card, arguments, held))
    card.run(SimpleNamespace(ptx=ptx, name=name, cooperative=False), launched, parameters)
    for array, place in held:
        array.reshape(-1).view(np.uint8)[:] = place.data[: array.nbytes]


def _parameters(card, values, held):
    """Give the parameters that arguments become, as bytes."""
    for value in values:
        if isinstance(value, tuple):
            yield from _parameters(card, value, held)
        elif isinstance(value, np.ndarray):
            place = card.place("", value.reshape(-1).view(np.uint8))
            held.append((value, place))
            words = [0, 0, value.size, value.itemsize, place.start, *value.shape, *value.strides]
            yield from (np.array([word], np.int64).view(np.uint8) for word in words)
        else:
            yield np.atleast_1d(np.asarray(value)).view(np.uint8)
