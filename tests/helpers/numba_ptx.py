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
from smemviz.engines.host import configuration

_CC = (9, 0)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(")
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from numba import cuda, typeof
        from numba.cuda import dispatcher

        # What it asks the GPU for where a device function is compiled.
        device = SimpleNamespace(compute_capability=_CC)
        asked = patch.object(dispatcher, "get_current_device", lambda: device)
        with asked, tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "mine.py"
            file.write_text(source, encoding="utf-8")
            spec = importlib.util.spec_from_file_location("mine", file)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            kernel = getattr(module, name).py_func
            types = tuple(map(typeof, args))
            return cuda.compile(kernel, types, device=False, cc=_CC, abi="numba")[0]


def run_ptx(ptx, args, block=8, grid=1):
    """Run it; arrays among ``args`` are written as it writes them."""
    name = _ENTRY.search(ptx)[1]
    card = LockstepCard(SimpleNamespace(compiled=SimpleNamespace(shared=()), symbol=name, line=1))
    parameters, held = [], []
    for one in args:
        if isinstance(one, np.ndarray):
            assert one.flags.c_contiguous
            place = card.place("", one.reshape(-1).view(np.uint8))
            held.append((one, place))
            words = [0, 0, one.size, one.itemsize, place.start, *one.shape, *one.strides]
            parameters += [np.array([word], np.int64).view(np.uint8) for word in words]
        else:
            dtype = {int: np.int64, float: np.float64}.get(type(one))
            parameters.append(np.array([one], dtype).view(np.uint8))
    kernel = SimpleNamespace(ptx=ptx, name=name, cooperative=False)
    card.run(kernel, configuration(_PLACE, (grid, block)), parameters)
    for array, place in held:
        array.reshape(-1).view(np.uint8)[:] = place.data[: array.nbytes]
