"""The gallery's file of mistakes: each is found, with line, block, threads and what to do."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import smemviz
from smemviz.errors import LaunchError
from smemviz.model.counting.global_traffic import element_counts
from smemviz.paths import kernels_dir
from smemviz.wording.sentences import described

MISTAKES = kernels_dir() / "mistakes.py"
LINES = MISTAKES.read_text(encoding="utf-8").splitlines()
REFUSED = """
    import numpy as np
    from numba import cuda, int32

    @cuda.jit
    def kernel(out):
        out[cuda.threadIdx.x] = 1

    def main():
        kernel[1, 2048](cuda.device_array(2048, np.int32))
"""


@pytest.fixture(scope="module")
def found():
    return smemviz.run(MISTAKES, engine="lockstep").findings


def run_with(**constants):
    return smemviz.run(MISTAKES, constants=constants, engine="lockstep")


def of(found, kernel):
    """Return the one finding of a kernel."""
    (finding,) = (finding for finding in found if finding.kernel == kernel)
    return finding


def test_each_kind_of_mistake_that_lockstep_looks_for_has_its_kernel(found):
    kinds = {"out_of_bounds", "unwritten_read", "race", "barrier_divergence", "launch_refused"}
    assert {finding.kind for finding in found} == kinds


def test_a_store_past_the_edge_is_found(found):
    """In the second block of a row of blocks threads 4 to 15 have no column of the 20."""
    finding = of(found, "store_past_the_edge")

    assert (finding.kind, finding.block, finding.launch) == ("out_of_bounds", (1, 0, 0), 0)
    assert LINES[finding.line - 1] == "    c[row, column] = total"
    assert finding.threads == tuple((x, 0, 0) for x in range(4, 12))
    assert finding.message == "c[0, 20] is outside shape (20, 20). Check the index with an if before it is used."


def test_a_block_that_is_smaller_than_its_tile_is_found(found):
    a, b = (finding for finding in found if finding.kernel == "block_smaller_than_tile")

    for finding, element in ((a, "a_tile[0, 2]"), (b, "b_tile[2, 0]")):
        assert (finding.kind, finding.block, finding.launch) == ("unwritten_read", (0, 0, 0), 1)
        assert LINES[finding.line - 1] == "        total += a_tile[ty, k] * b_tile[k, tx]"
        assert finding.threads == ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0))
        assert finding.message == (
            f"{element} is read, but nothing wrote it: the block has 4 threads and {element[:6]} 1024 elements. "
            "Start one thread for each element, or let each thread store several."
        )


def test_a_block_that_fills_and_stores_a_corner_of_each_tile_leaves_the_rest_as_it_was():
    """2 x 2 threads for a tile of 32 x 32: of 256 blocks one has rows and columns in c, and stores 4 of 1,024."""
    recording = run_with()
    launch = recording["corner_of_each_tile"]
    stored = element_counts(launch, next(array for array in launch.arrays if array.name == "c"), "store")

    assert stored.element.tolist() == [0, 1, 32, 33]
    found = [finding for finding in recording.findings if finding.kernel == "corner_of_each_tile"]
    assert [(one.kind, one.message[:12]) for one in found] == [
        ("unwritten_read", "a_tile[0, 2]"),
        ("unwritten_read", "b_tile[2, 0]"),
    ]


def test_a_missing_second_barrier_is_found(found):
    """Between warps for b_tile, whose rows all warps load; each warp loads the rows of a_tile that it stored."""
    b, a = (finding for finding in found if finding.kernel == "no_second_barrier")

    assert (b.kind, b.block, b.threads, b.launch) == ("race", (0, 0, 0), ((0, 2, 0), (0, 0, 0)), 3)
    assert LINES[b.line - 1] == "        b_tile[ty, tx] = b[first + ty, column]"
    load = next(i for i, line in enumerate(LINES, 1) if i > b.line and "total +=" in line)
    loop = next(i for i in range(b.line, 0, -1) if "for first in" in LINES[i - 1])
    assert b.message == (
        f"b_tile[0, 0] is loaded by thread (0, 2, 0) at line {load} and stored by thread (0, 0, 0) at line {b.line} "
        f"with no barrier between. Put cuda.syncthreads() at the end of the loop of line {loop}."
    )
    # What ends the race of a_tile within a warp, cuda.syncwarp(), would leave the one of b_tile.
    assert a.message == (
        f"a_tile[0, 0] is loaded by thread (1, 0, 0) at line {load} and stored by thread (0, 0, 0) at line {a.line}, "
        "both of one warp, with no syncwarp between. "
        f"Put cuda.syncthreads() at the end of the loop of line {loop}."
    )
    assert (a.kind, a.threads, LINES[a.line - 1].strip()) == (
        "race",
        ((1, 0, 0), (0, 0, 0)),
        "a_tile[ty, tx] = a[row, first + tx]",
    )


def test_a_barrier_in_a_branch_is_found(found):
    finding = of(found, "barrier_in_a_branch")

    assert (finding.kind, finding.block, finding.launch) == ("barrier_divergence", (0, 0, 0), 4)
    assert LINES[finding.line - 1] == "        cuda.syncthreads()"
    assert finding.threads == tuple((x, 0, 0) for x in range(32, 40))
    assert finding.message == (
        "cuda.syncthreads() is reached by 32 threads of a block while 32 are elsewhere. "
        "Move it to a place that every thread of the block reaches."
    )


def test_a_counter_without_an_atomic_is_found(found):
    finding = of(found, "count_without_atomic")

    assert (finding.kind, finding.launch) == ("race", 5)
    assert LINES[finding.line - 1] == "        count[0] += 1"
    assert finding.message.endswith("and one of the two results is lost. Use cuda.atomic.add(count, 0, 1).")


def test_a_launch_that_no_device_would_start_is_found_where_it_is_launched(found):
    for kernel, message in [
        (
            "too_many_threads",
            "a block of 32 x 33 x 1 has 1056 threads; a device takes 1024. Make the block smaller and the grid larger. "
            'CUDA C++ calls it "invalid configuration argument".',
        ),
        (
            "too_much_static_memory",
            "the kernel declares 65536 bytes of static shared memory; a block has 49152. "
            "Declare it dynamic (shape 0) and give its bytes in the launch.",
        ),
        (
            "too_much_dynamic_memory",
            "0 bytes of static and 245760 of dynamic shared memory are 245760; "
            "compute capability 9.0 has 232448 per block. Make the tile smaller.",
        ),
    ]:
        finding = of(found, kernel)

        assert (finding.kind, finding.block, finding.threads, finding.launch) == ("launch_refused", (0, 0, 0), (), None)
        assert LINES[finding.line - 1].startswith(f"    {kernel}[1, ")
        assert finding.message == message


@pytest.mark.parametrize(
    ("constants", "kernel"),
    [
        ({"WIDTH": 32}, "store_past_the_edge"),
        ({"TALL": 32}, "too_many_threads"),
        ({"STATIC_SIDE": 96}, "too_much_static_memory"),
        ({"DYNAMIC_BYTES": 128}, "too_much_dynamic_memory"),
    ],
)
def test_a_constant_cures_it(constants, kernel):
    recording = run_with(**constants)

    assert kernel not in {finding.kernel for finding in recording.findings}
    assert kernel in {launch.kernel for launch in recording.launches}


def test_what_is_refused_is_not_launched_and_main_goes_on():
    recording = run_with()

    assert [launch.kernel for launch in recording.launches] == [
        "store_past_the_edge",
        "block_smaller_than_tile",
        "corner_of_each_tile",
        "no_second_barrier",
        "barrier_in_a_branch",
        "count_without_atomic",
    ]


@pytest.mark.exhaustive
def test_the_table_marks_the_line_of_a_mistake(command):
    cells = [
        [cell.strip() for cell in line.split("│")]
        for line in command("run", MISTAKES, "--engine", "lockstep", code=1).out.splitlines()
    ]
    marked = [(int(row[1][1:]), row[2]) for row in cells if len(row) > 2 and row[1].startswith("!")]
    assert [source for _, source in marked] == [
        "c[row, column]",
        *("a_tile[ty, k]", "b_tile[k, tx]") * 2,
        "a[row, first + tx]",
        "a_tile[ty, tx]",
        "b[first + ty, column]",
        "b_tile[ty, tx]",
        *("count[0]", "count[0]"),
    ]
    assert all(source in LINES[line - 1] for line, source in marked)


def test_a_file_whose_every_launch_is_refused_gives_a_recording(tmp_path, command):
    path, saved = tmp_path / "refused.py", tmp_path / "refused.smem.npz"
    path.write_text(textwrap.dedent(REFUSED), encoding="utf-8")

    out = command("run", path, "--engine", "lockstep", "-o", saved, code=1).out
    said = f"{path}:10: launch of kernel refused: a block of 2048 x 1 x 1 has 2048 threads; a device takes 1024."
    assert said in out
    command("run", path, "--engine", "lockstep", "--no-fail")
    recording = smemviz.load(saved)
    assert (recording.launches, len(recording.findings)) == ((), 1)
    assert said in command("show", saved).out


def test_a_constant_that_makes_a_launch_impossible_is_found_too(command):
    """33 times BDIMY = 33 threads; the other kernels of the file are not reached, for main() wants the result."""
    path = kernels_dir() / "square.py"

    out = command("run", path, "--set", "BDIMX=33", "--engine", "lockstep", code=1).out
    assert "launch of set_row_read_row refused: a block of 33 x 33 x 1 has 1089 threads" in out


def test_one_launch_that_is_refused_is_an_error():
    def kernel(out): ...

    with pytest.raises(LaunchError, match="a block of 2048 x 1 x 1 has 2048 threads; a device takes 1024"):
        smemviz.record(kernel, 1, 2048, (np.zeros(1),), engine="lockstep")


def test_launches_of_one_kernel_are_told_apart(tmp_path):
    path = tmp_path / "twice.py"
    launch = "    kernel[1, 32](cuda.device_array({}, np.int32))\n"
    head = textwrap.dedent(REFUSED).partition("    kernel[1, 2048]")[0]
    path.write_text(head + launch.format(32) + launch.format(31), encoding="utf-8")

    recording = smemviz.run(path, engine="lockstep")

    (finding,) = recording.findings
    assert finding.launch == 1
    assert described(finding, recording) == (
        "out of bounds in kernel (2), block (0, 0, 0), thread (31, 0, 0): out[31] is outside shape (31,). "
        "Check the index with an if before it is used."
    )


@pytest.mark.exhaustive
def test_the_file_run_as_a_script_launches_nothing():
    done = subprocess.run([sys.executable, MISTAKES], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "mistakes.py: made to be looked at; on a device these kernels may do anything\n"
