"""Compare what was recorded with what Nsight Compute counts in the same kernels, and explain every difference.

Each access gets a verdict: agrees; explained, by what the compiler did to it; inflated, when global traffic adds to a
counter of the whole launch; or unexplained. Exits 1 when an access is unexplained.

CUDA C++ is profiled as nvcc builds it. It is compared with the accesses as they are written or, with --view compiled,
with those that the compiler leaves for ptxas.
"""

import argparse

from smemviz.cli.settings import add_file_and_settings, add_output, add_view, main_output, recording_for
from smemviz.errors import InputError, MissingError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_file_and_settings(parser)
    add_view(parser)
    add_output(parser, "store the verdicts and counters in this recording, which is created if needed")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def execute(arguments: argparse.Namespace) -> int:
    """Record, profile, reconcile, store, print."""
    from smemviz.engines.backend import gpu_engine
    from smemviz.frontends.reading import check_runnable, read_program
    from smemviz.measure.ncu.counters import find_ncu
    from smemviz.measure.ncu.verify import verify
    from smemviz.model.hardware.hardware import Hardware
    from smemviz.progress import progress_bar
    from smemviz.reports.recording import facts, print_verdicts
    from smemviz.reports.terminal import print_json

    program = read_program(arguments.file).with_constants(dict(arguments.set))
    program = program.in_view(arguments.view)
    check_runnable(program)
    if not gpu_engine().available():
        raise MissingError("no GPU here that Numba can use; verify needs one, and Nsight Compute (ncu)")
    ncu = find_ncu()
    with main_output(arguments.json), progress_bar() as progress:
        recording = recording_for(program, arguments.output, progress)
        if arguments.view not in (None, recording.view):
            raise InputError(f"{arguments.output}: is of the view {recording.view}; name another file")
        program = program.in_view(recording.view)
        recording, explained = verify(program, dict(arguments.set), recording, ncu, progress)
    if arguments.output:
        recording.save(arguments.output)
    if arguments.json:
        print_json(facts(recording, Hardware.of(recording)))
    else:
        print_verdicts(recording)
    return 0 if explained else 1
