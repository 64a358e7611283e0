"""Kernels that are not recorded, told by what a script imports to write them."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Iterator
from pathlib import Path

from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.messages import english

_INLINE = "torch.utils.cpp_extension"
# Languages of kernels by the module that has them.
_LANGUAGES = {
    "triton": "Triton",
    "warp": "Warp",
    "cutlass": "CuTe DSL",
    "cuda.tile": "cuTile",
    "jax.experimental.pallas": "Pallas",
    "taichi": "Taichi",
    "tilelang": "TileLang",
    _INLINE: "load_inline",
}


def why_not_recorded(program: PythonProgram, error: Exception | None = None) -> tuple[int, str] | None:
    """Return the line of a script that imports such a language, and what to say of its kernels.

    None where none is imported, or an error is not of the language: of its import, or met in its package.
    """
    folder = Path(program.file).parent
    for line, module in _imports(program.tree):
        name = next((name for name in _LANGUAGES if f"{module}.".startswith(f"{name}.")), "")
        is_own = (folder / f"{name.partition('.')[0]}.py").exists()  # a file beside the script
        if name and not is_own and (error is None or _is_of(error, name)):
            return line, _not_recorded(name)
    return None


def _not_recorded(name: str) -> str:
    if name == _INLINE:
        return english(
            "kernels of torch's load_inline are not recorded; save their CUDA C++ as a .cu file, and name that"
        )
    return english(
        "kernels of {language} are not recorded; those of Numba, CuPy, PyCUDA, cuda.core and CUDA C++ are",
        language=_LANGUAGES[name],
    )


def _is_of(error: Exception, name: str) -> bool:
    if isinstance(error, ModuleNotFoundError):
        return (error.name or "").partition(".")[0] == name.partition(".")[0]
    folder = f"/{name.replace('.', '/')}"
    files = [Path(frame.filename).as_posix() for frame in traceback.extract_tb(error.__traceback__)]
    return any(f"{folder}/" in file or file.endswith(f"{folder}.py") for file in files)


def _imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
