"""See what a CUDA kernel really does to shared memory.

The public names are loaded when they are first used, so that ``import smemviz`` costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from smemviz import errors

if TYPE_CHECKING:
    from smemviz.app import create_app
    from smemviz.engines import cuda_cpp, record, recording, run
    from smemviz.model.banks import wavefronts
    from smemviz.model.sectors import sectors
    from smemviz.recording import Recording
    from smemviz.recording_file import load
    from smemviz.version import __version__

__all__ = [
    "Recording",
    "__version__",
    "create_app",
    "cuda_cpp",
    "errors",
    "load",
    "record",
    "recording",
    "run",
    "sectors",
    "wavefronts",
]

_HOMES = {
    "Recording": "smemviz.recording",
    "create_app": "smemviz.app",
    "cuda_cpp": "smemviz.engines",
    "load": "smemviz.recording_file",
    "record": "smemviz.engines",
    "recording": "smemviz.engines",
    "run": "smemviz.engines",
    "sectors": "smemviz.model.sectors",
    "wavefronts": "smemviz.model.banks",
    "__version__": "smemviz.version",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'smemviz' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


class _Package(ModuleType):
    """The package, in which ``recording`` is the function although a module has that name too."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "recording" and isinstance(value, ModuleType)):  # as the import system sets it
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
