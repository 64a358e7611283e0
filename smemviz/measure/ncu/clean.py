"""What Nsight Compute runs: the clean kernels of a kernel file, compiled with line information.

``python -m smemviz.measure.ncu.clean FOLDER FILE NAME=VALUE...``; the folder is for the source that a compiler saw.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from smemviz.errors import SmemvizError
from smemviz.frontends.reading import read_program
from smemviz.measure.meters import meter_of


def main(arguments: Sequence[str]) -> int:
    """Run a kernel file; the profiler finds its source by the absolute path it is compiled under."""
    folder, file, *settings = arguments
    try:
        program = read_program(Path(file).resolve())
        program = program.with_constants(dict(setting.split("=", 1) for setting in settings))
        meter_of(program, "ncu").run_clean(program, Path(folder))
    except SmemvizError as error:
        print(f"smemviz: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
