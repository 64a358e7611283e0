"""Kernels from text, for tests of lockstep."""

import textwrap

import numpy as np

from smemviz.engines.host import namespace_for
from smemviz.engines.launch_shape import configuration
from smemviz.engines.lockstep import launch, run
from smemviz.engines.lockstep.host.cuda import Cuda
from smemviz.engines.options import LaunchOptions, RunOptions
from smemviz.frontends.numba.python_functions import function_of
from smemviz.frontends.reading import parse_program

FILE = "kernels/mine.py"
PLACE = ("kernels/mine.py", 99)  # where the launch is said to stand
HEAD = """\
import math
import numpy as np
from numba import cuda, boolean, complex64, complex128, float32, float64
from numba import int8, int16, int32, int64, uint8, uint32, uint64
from numba.types import float16
"""
START = HEAD.count("\n") + 1  # the line of the file where the text begins


def run_text(text, **options):
    """Interpret the text of a whole kernel file, however long that takes; its first line is line ``START``."""
    program = parse_program(HEAD + textwrap.dedent(text).lstrip("\n"), FILE)
    return run(program, RunOptions(machine_code="never", **options))


def kernel_of(text):
    """Return ``kernel`` of a text, with what is known of it from one launch to the next."""
    return text_kernel(HEAD + textwrap.dedent(text).lstrip("\n"))


def text_kernel(text):
    """Return ``kernel`` of the text of a whole file."""
    program = parse_program(text, FILE)
    namespace = namespace_for(FILE, Cuda(FILE, lambda *launched: None))
    exec(program.code(), namespace)
    return function_of(namespace["kernel"].py_func, program.source, program.tree)


def launch_text(text, *args, grid=1, block=32, dynamic=0, harmless=False, **options):
    """Interpret one launch of ``kernel`` of a text; returns the launch and the mistakes, ``args`` hold what it wrote.

    With ``harmless`` findings are returned too that are no mistake.
    """
    shape = configuration(PLACE, (grid, block, 0, dynamic))
    made, findings = launch(kernel_of(text), shape, args, PLACE, LaunchOptions(machine_code="never", **options))
    return made, tuple(finding for finding in findings if harmless or not finding.harmless)


def body(text, *args, before="", parameters="out", **options):
    """Launch a kernel made of a body; its first line is line ``START + 2`` where nothing comes before."""
    indented = textwrap.indent(textwrap.dedent(text).strip("\n"), "    ")
    header = f"@cuda.jit\ndef kernel({parameters}):\n"
    return launch_text(textwrap.dedent(before).lstrip("\n") + header + indented + "\n", *args, **options)


def result(text, dtype="int64", n=32, **options):
    """Return what a body leaves in ``out``, an array of zeros."""
    out = np.zeros(n, dtype)
    _, findings = body(text, out, **options)
    assert findings == ()
    return out


def by_python(lines, threads, **names):
    """Return what Python itself leaves in ``out`` of the lines of a body, run for each thread's ``i`` in turn."""
    out = np.zeros(threads)
    for i in range(threads):
        exec(lines, {"i": i, "out": out, **names})
    return out.tolist()


def what(finding):
    """Return what a finding says went wrong, without the remedy."""
    wrong, stop, remedy = finding.message.partition(". ")
    assert stop
    assert remedy.endswith(".")
    return wrong


def rows(launch, site):
    """Return the addresses of one site's requests."""
    return launch.requests.addresses[launch.requests.site == site]
