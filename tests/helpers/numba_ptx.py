"""What Numba makes of a kernel, without a GPU: its PTX for compute capability 9.0, run by the interpreter of PTX."""

import importlib.util
import re
import tempfile
import warnings
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np

from helpers.ptx_card import LockstepCard
from smemviz.engines.gpu.ptx.ptx_launch import Kernel
from smemviz.engines.launch_shape import configuration

_CC = (9, 0)
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

        return compiled(load, args)


def compiled(load, args):
    """Return the PTX of the function that ``load`` returns, as a kernel for arguments like these."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from numba import cuda, typeof
        from numba.cuda import dispatcher

        # What it asks the GPU for where a device function is compiled.
        device = SimpleNamespace(compute_capability=_CC)
        with patch.object(dispatcher, "get_current_device", lambda: device):
            return cuda.compile(load(), tuple(map(typeof, args)), device=False, cc=_CC, abi="numba")[0]


def run_ptx(ptx, args, block=8, grid=1):
    """Run it; arrays among ``args``, those in tuples too, are written as it writes them."""
    name = ENTRY.search(ptx)[1]
    card = LockstepCard(SimpleNamespace(compiled=SimpleNamespace(shared=()), symbol=name, line=1))
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
