"""Standing in for CuPy, cuda.core and PyCUDA while a script runs."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from smemviz.engines.lockstep.host.stand_ins.arrays import memories, memory_at
from smemviz.engines.lockstep.host.stand_ins.cuda_core import modules_of_cuda_core
from smemviz.engines.lockstep.host.stand_ins.cupy import modules_of_cupy
from smemviz.engines.lockstep.host.stand_ins.modules import Module, Nothing, imported, nothing, tree
from smemviz.engines.lockstep.host.stand_ins.pycuda import modules_of_pycuda
from smemviz.engines.lockstep.log import ROW_BYTES
from smemviz.engines.lockstep.ptx.host.cuda_launch import launch
from smemviz.engines.lockstep.ptx.host.raw_kernels import CUDA_CORE, PYCUDA, RawKernels
from smemviz.engines.recorder import Recorder
from smemviz.engines.remedies import is_installed
from smemviz.frontends.numba.python_program import PythonProgram


@contextmanager
def seeing(program: PythonProgram, recorder: Recorder) -> Iterator[None]:
    """Run what a script launches through CuPy, cuda.core or PyCUDA in lockstep, and let a recorder see it."""
    cupy = RawKernels(program, recorder, launch, ROW_BYTES, memory_at, memories=memories)
    core = RawKernels(program, recorder, launch, ROW_BYTES, memory_at, CUDA_CORE, memories)
    pycuda = RawKernels(program, recorder, launch, ROW_BYTES, memory_at, PYCUDA, memories)
    modules = [*modules_of_cupy(program, cupy), *modules_of_cuda_core(program, core)]
    modules += modules_of_pycuda(program, pycuda)
    with imported(tree(modules), ("cupy", "cupyx", "cuda.core", "pycuda")):
        yield


class _Uploaded(dict[str, bytes]):
    """The files that nobody uploads: one that is asked for is read from the folder."""

    def __missing__(self, name: str) -> bytes:
        return Path(name).read_bytes()


@contextmanager
def notebook_modules(script: PythonProgram) -> Iterator[None]:
    """Let a script import ``google.colab`` and ``IPython`` while this lasts, unless it can do without them itself."""
    modules = {"google.colab": _colab(script), "IPython": _ipython(script)}
    missing = [name for name in modules if _needs(script.tree, name) and not is_installed(name)]
    with imported(tree(module for name in missing for module in modules[name]), missing):
        yield


def _colab(script: PythonProgram) -> list[Module]:
    parts: dict[str, dict[str, Any]] = {
        "auth": {"authenticate_user": nothing},
        "data_table": dict.fromkeys(("enable_dataframe_formatter", "disable_dataframe_formatter"), nothing),
        "drive": {"mount": nothing, "flush_and_unmount": nothing},
        "files": {"upload": lambda *_: _Uploaded(), "download": nothing, "view": nothing},
        "output": dict.fromkeys(("clear", "enable_custom_widget_manager", "no_vertical_scroll"), nothing),
        "patches": {"cv2_imshow": nothing, "cv_imshow": nothing},
        "runtime": {"unassign": nothing},
        "userdata": {},
    }
    return [
        Module("google.colab", script, {}),
        *(Module(f"google.colab.{name}", script, known) for name, known in parts.items()),
    ]


def _ipython(script: PythonProgram) -> list[Module]:
    shown = {"display": print, "clear_output": nothing, "get_ipython": lambda: None}
    return [
        Module(name, script, shown, lambda name: Nothing if name[:1].isupper() else nothing)
        for name in ("IPython", "IPython.core", "IPython.core.display", "IPython.lib.display", "IPython.display")
    ]


def _needs(module: ast.AST, package: str) -> bool:
    """Tell whether a package is imported, and never in a ``try``: there it is asked for, and may be missing."""
    imports = [node for node in ast.walk(module) if _imports(node, package)]
    tries = [node for node in ast.walk(module) if isinstance(node, ast.Try) and node.handlers]
    asked = any(_imports(node, package) for one in tries for node in ast.walk(ast.Module(one.body, [])))
    return bool(imports) and not asked


def _imports(node: ast.AST, package: str) -> bool:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
    if isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{name}" for name in names]
    return any(f"{name}.".startswith(f"{package}.") for name in names)
