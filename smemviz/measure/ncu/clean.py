"""What Nsight Compute runs: the clean kernels of a kernel file, compiled with line information.

``python -m smemviz.measure.ncu.clean FOLDER FILE NAME=VALUE...``; the folder is for the source that a compiler saw.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numba import cuda
from numba.cuda.dispatcher import CUDADispatcher

from smemviz.engines.gpu.running import watch
from smemviz.engines.host import Configuration
from smemviz.errors import SmemvizError
from smemviz.frontends.cuda import CudaProgram
from smemviz.frontends.numba.functions import Function
from smemviz.frontends.reading import read_program
from smemviz.measure.ncu.clean_cuda import run_clean


class _Onlooker:
    """Lets every launch pass."""

    def launch(
        self, dispatcher: CUDADispatcher, function: Function, config: Configuration, arguments: Sequence[Any]
    ) -> None:
        """See one launch and do nothing."""


def main(arguments: Sequence[str]) -> int:
    """Run a kernel file; the profiler finds its source by the absolute path it is compiled under."""
    folder, file, *settings = arguments
    try:
        program = read_program(Path(file).resolve())
        program = program.with_constants(dict(setting.split("=", 1) for setting in settings))
        if isinstance(program, CudaProgram):
            run_clean(program, Path(folder))
        else:
            _give_line_information()
            watch(program, _Onlooker())
    except SmemvizError as error:
        print(f"smemviz: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _give_line_information() -> None:
    """Let every ``@cuda.jit`` of this process say which line an instruction comes from, imported files included."""
    plain = cuda.jit

    def jit(*args: Any, **kwargs: Any) -> Any:
        return plain(*args, **kwargs | {"lineinfo": not kwargs.get("debug")})

    cuda.jit = jit


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
