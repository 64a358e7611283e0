"""What of a run is asked for: blocks, kernels, launches; both engines read it alike."""

import numpy as np
import pytest

import smemviz
from smemviz.engines.selection import as_blocks
from smemviz.errors import InputError, LaunchError

FILE = """
import numpy as np
from numba import cuda, int32

@cuda.jit
def one(out):
    tile = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    tile[t] = t
    out[cuda.grid(1)] += tile[t]

@cuda.jit
def two(out):
    out[cuda.grid(1)] *= 2

def main():
    out = cuda.to_device(np.zeros(32 * 8, np.int32))
    for _ in range(3):
        one[8, 32](out)
        two[4, 32](out)
    assert out.copy_to_host()[33] == 1 * 2 * 2 * 2 + 1 * 2 * 2 + 1 * 2
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "both.py"
    path.write_text(FILE)
    return path


def run(file, **options):
    return smemviz.run(file, engine="lockstep", **options)


def test_blocks_are_read_as_numbers_ranges_and_words():
    for given, numbers in [
        ("0,5,8-11", [0, 5, 8, 9, 10, 11]),
        (" last , first,3-3", [0, 3, 19]),
        ("middle", [10]),
        ("all", list(range(20))),
        ([7, 2, 7], [2, 7]),
        (np.array([1, 0]), [0, 1]),
        (4, [4]),
    ]:
        assert as_blocks(given).of(("f.py", 1), "kernel", 20).tolist() == numbers


def test_what_is_no_block_is_refused():
    for given in ["", "1,", "x", "-1", "5-3", "1.5", "0x3", [-1], [1.5], [], {}, "9" * 19]:
        with pytest.raises(InputError, match=r"^blocks "):
            as_blocks(given)


def test_a_block_out_of_the_grid_is_refused_at_the_launch(file):
    with pytest.raises(LaunchError, match=r"both\.py:20: there is no block 7 in this launch of two, which has"):
        run(file, blocks="0,7")


def test_a_huge_range_out_of_the_grid_is_refused_without_being_built(file):
    with pytest.raises(LaunchError, match="there is no block 999999999999999999 in"):
        run(file, blocks="0-999999999999999999")


def test_chosen_blocks_are_logged_in_full_and_totals_hold_for_the_grid(file):
    whole = run(file).launches[0]
    launch = run(file, blocks="1,last").launches[0]

    assert sorted(set(launch.requests.block.tolist())) == [1, 7]
    assert launch.summary() == whole.summary()


def test_only_the_launches_asked_for_are_recorded_and_all_happen(file):
    def names(**options):
        return [launch.kernel for launch in run(file, **options).launches]  # main() asserts what all of them give

    assert names(kernels="two") == ["two", "two", "two"]
    assert names(launch=3) == ["two"]
    assert names(kernels=["one"], launch=2) == ["one"]
    assert names(max_launches=3) == ["one", "two", "one"]
    assert names(kernels="one", max_launches=2) == ["one", "one"]


def test_launches_that_were_not_recorded_are_told_of(file, tmp_path, command):
    path = tmp_path / "some.smem.npz"
    out = command("run", file, "--engine", "lockstep", "--kernel", "one", "-o", path).out
    assert "\n3 more launches were made and not recorded, as asked\n" in out
    assert smemviz.load(path).unrecorded == 3
    assert command("show", path, "--json").json["unrecorded"] == 3


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--kernel", "three"], "smemviz: no launch of three; the run launched one, two\n"),
        (["--launch", "6"], "smemviz: there is no launch 6; the run made 6 launches, numbers 0 to 5\n"),
        (
            ["--kernel", "one", "--launch", "3"],
            "smemviz: there is no launch 3 of one; the run made 3 launches, numbers 0 to 2\n",
        ),
        (["--launch", "-1"], "smemviz: launch -1: launches are numbered from 0\n"),
        (["--max-launches", "0"], "smemviz: at most 0 launches: record at least 1\n"),
        (
            ["--blocks", "1;2"],
            "smemviz: blocks '1;2': give numbers and ranges such as 0,5,8-11, or first, middle, last, all\n",
        ),
    ],
)
def test_what_was_asked_for_in_vain_is_said_in_one_line(file, command, options, line):
    assert command("run", file, "--engine", "lockstep", *options, code=2) == ("", line)
