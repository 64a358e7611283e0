"""See what a CUDA kernel really does to shared memory.

The public names are loaded when they are first used, so that ``import smemviz`` costs nothing.
"""

from typing import TYPE_CHECKING

from smemviz import errors

if TYPE_CHECKING:
    from smemviz.app.factory import create_app
    from smemviz.engines import cuda_cpp, record, run
    from smemviz.engines.script import recording
    from smemviz.model.counting.service import sectors, wavefronts
    from smemviz.recordings.data import Launch, Site
    from smemviz.recordings.file import load
    from smemviz.recordings.findings import Finding
    from smemviz.recordings.recording import Recording
    from smemviz.version import __version__

__all__ = [
    "Finding",
    "Launch",
    "Recording",
    "Site",
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
    "Finding": "smemviz.recordings.findings",
    "Launch": "smemviz.recordings.data",
    "Recording": "smemviz.recordings.recording",
    "Site": "smemviz.recordings.data",
    "create_app": "smemviz.app.factory",
    "cuda_cpp": "smemviz.engines",
    "load": "smemviz.recordings.file",
    "load_ipython_extension": "smemviz.cli.ipython",  # which %load_ext smemviz calls
    "record": "smemviz.engines",
    "recording": "smemviz.engines.script",
    "run": "smemviz.engines",
    "sectors": "smemviz.model.counting.service",
    "wavefronts": "smemviz.model.counting.service",
    "__version__": "smemviz.version",
}


if not TYPE_CHECKING:  # or a name that is misspelt passes for one that is loaded later

    def __getattr__(name):
        if name in _HOMES:
            from importlib import import_module

            from smemviz.paths import whole_needed

            with whole_needed():
                return getattr(import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'smemviz' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
