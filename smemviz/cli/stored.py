"""The recording that a measurement goes into: the one stored under a name, or a new one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smemviz.frontends.numba.program import Program
    from smemviz.progress import Callback
    from smemviz.recordings.recording import Recording


def recording_for(program: Program, path: Path | None, progress: Callback | None = None) -> Recording:
    """Return the recording stored at ``path`` if there is one, else record the kernel file on this GPU.

    Raises:
        InputError: when the one there is of another file or other constants, or was not made on this card; or when
            there is no such folder.
    """
    from smemviz.cli.settings import require_output
    from smemviz.engines import run
    from smemviz.engines.backend import gpu_engine
    from smemviz.errors import InputError
    from smemviz.recordings.file import load

    require_output(path, ".npz")
    if not path or not path.exists():
        return run(program, engine="gpu", progress=progress)
    recording = load(path)
    wanted = (program.sha256, program.values, gpu_engine().device().name)
    if (recording.sha256, recording.constants, recording.device and recording.device.name) != wanted:
        raise InputError(f"{path}: was made from another version of the file, other constants or on another card")
    return recording
