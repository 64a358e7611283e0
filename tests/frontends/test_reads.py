"""Which constants a kernel reads."""

from smemviz.frontends.numba.python_frontend import code_reads, constants_read
from smemviz.frontends.reading import parse_program, read_program
from smemviz.paths import kernels_dir


def test_a_kernel_reads_what_its_code_and_its_launch_name():
    for file, kernel, reads in [
        ("square", "set_row_read_col", {"BDIMX", "BDIMY"}),
        ("square", "set_row_read_col_pad", {"BDIMX", "BDIMY", "IPAD", "PITCH"}),
        ("square", "set_row_read_col_dyn_pad", {"BDIMX", "BDIMY", "IPAD", "PITCH"}),
        ("mistakes", "too_many_threads", {"SQUARE", "TALL"}),
    ]:
        assert constants_read(read_program(kernels_dir() / f"{file}.py"), kernel) == reads


SOURCE = """
import numpy as np
from numba import cuda

WIDTH = 32
PAD = 1
PITCH = WIDTH + PAD
TABLE = tuple(range(PITCH))
THREADS = 64
ROUNDS = 2
SIZE = 8
OTHER = 9


@cuda.jit(device=True)
def place(i):
    return TABLE[i]


@cuda.jit
def direct(out):
    out[place(0)] = 1


@cuda.jit
def through(out):
    out[0] = 1


def start(out):
    through[1, THREADS](out)


def main():
    out = np.zeros(OTHER)
    start(out)
    out = np.zeros(SIZE)
    for n in range(ROUNDS):
        threads = THREADS * (n + 1)
        direct[1, threads](out)
"""


def test_names_are_followed_through_functions_tables_loops_and_variables():
    program = parse_program(SOURCE, "made.py")
    assert constants_read(program, "direct") == {"WIDTH", "PAD", "PITCH", "THREADS", "ROUNDS", "SIZE"}
    assert code_reads(program, "direct") == {"WIDTH", "PAD", "PITCH"}


def test_what_main_does_not_launch_by_name_is_not_told():
    program = parse_program(SOURCE, "made.py")
    assert constants_read(program, "through") is None
    assert constants_read(program, "missing") is None
