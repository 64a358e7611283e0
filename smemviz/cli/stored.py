"""Recordings that verbs name: one stored, or one made now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from smemviz.errors import InputError

if TYPE_CHECKING:
    from smemviz.engines import Engine
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
    from smemviz.recordings.file import load

    require_output(path, ".npz")
    if not path or not path.exists():
        return run(program, engine="gpu", progress=progress)
    recording = load(path)
    wanted = (program.sha256, program.values, gpu_engine().device().name)
    if (recording.sha256, recording.constants, recording.device and recording.device.name) != wanted:
        raise InputError(f"{path}: was made from another version of the file, other constants or on another card")
    return recording


def recorded(name: str, constants: Mapping[str, object], engine: Engine) -> Recording:
    """Return the recording that a name on the command line stands for.

    Raises:
        InputError: when there is none, or it cannot be made.
    """
    from smemviz.engines import run
    from smemviz.engines.script import run_script
    from smemviz.frontends.numba.revision import read_revision
    from smemviz.recordings.file import load

    if name.endswith(".npz"):
        if constants:
            raise InputError(f"{name}: is a recording; constants are set for kernel files")
        return load(name)
    if ":" in name and not Path(name).exists():
        program = read_revision(name).with_constants(constants)
        return run(program, engine=engine) if program.has_main else run_script(program, engine=engine)
    return run(name, constants, engine)
