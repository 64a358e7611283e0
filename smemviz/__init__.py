"""See what a CUDA kernel really does to shared memory.

The public names are loaded when they are first used, so that ``import smemviz`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from smemviz import errors

if TYPE_CHECKING:
    from smemviz.app.factory import create_app
    from smemviz.engines import cuda_cpp, record, run
    from smemviz.engines.script import recording
    from smemviz.model.counting.service import sectors, wavefronts
    from smemviz.recordings.file import load
    from smemviz.recordings.recording import Recording
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
    "Recording": "smemviz.recordings.recording",
    "create_app": "smemviz.app.factory",
    "cuda_cpp": "smemviz.engines",
    "load": "smemviz.recordings.file",
    "record": "smemviz.engines",
    "recording": "smemviz.engines.script",
    "run": "smemviz.engines",
    "sectors": "smemviz.model.counting.service",
    "wavefronts": "smemviz.model.counting.service",
    "__version__": "smemviz.version",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'smemviz' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
