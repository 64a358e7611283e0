"""Loops whose threads meet: what they take from each other, print and do wrong, turn by turn."""

import textwrap

import numpy as np
import pytest
from helpers.lockstep_text import body

from smemviz.engines.lockstep import Limits
from smemviz.errors import UnsupportedError

VALUES = np.arange(300) * 37 % 101
FIND = """
    @cuda.jit(device=True)
    def root_of(sets, k):
        while sets[k] != k:
            sets[k] = sets[sets[k]]
            k = sets[k]
        return k

"""
SHAPES = pytest.mark.parametrize(("block", "grid"), [(1, 1), (16, 3), (40, 1)])


def launched(text, out, block=32, grid=1, **options):
    """Launch a body of threads ``i`` of ``n``; return what it leaves in counters, and what it found."""
    counts = np.zeros(8, np.int32)
    lines = "i, n = cuda.grid(1), cuda.gridsize(1)\n" + textwrap.dedent(text)
    given = {"parameters": "out, counts, values", "before": FIND, "block": block, "grid": grid}
    _, findings = body(lines, out, counts, VALUES, **given, **options)
    return counts, findings


@SHAPES
def test_sets_are_joined(block, grid):
    text = """
        for k in range(i, 60, n):
            a, b = values[k] % 32, values[k + 60] % 32
            while True:
                a, b = root_of(out, a), root_of(out, b)
                if a == b:
                    break
                if a < b:
                    a, b = b, a
                if cuda.atomic.cas(out, a, a, b) == a:
                    break
    """
    sets, wanted = np.arange(32), np.arange(32)
    launched(text, sets, block, grid)
    for one, other in VALUES[:120].reshape(2, 60).T % 32:
        joined = wanted[one], wanted[other]
        wanted[np.isin(wanted, joined)] = min(joined)
    while (sets != sets[sets]).any():
        sets = sets[sets]
    assert sets.tolist() == wanted.tolist()


@SHAPES
def test_a_counter_that_is_tried_again_misses_nobody(block, grid):
    text = """
        for k in range(5):
            while True:
                old = counts[0]
                if cuda.atomic.cas(counts, 0, old, old + 1) == old:
                    break
            out[old] = i
    """
    out = np.zeros(5 * block * grid, np.int64)
    counts, _ = launched(text, out, block, grid)
    assert counts[0] == len(out)
    assert np.bincount(out).tolist() == [5] * (block * grid)


def test_an_extreme_that_is_as_large_changes_no_sign_of_a_zero():
    for update in ["min", "max"]:
        for used in ["", "_ = "]:
            x = np.array([0.0, -0.0])
            lines = f"for k in range(2):\n    {used}cuda.atomic.{update}(out, k, -0.0 if i else 0.0)"
            launched(lines, x, 9)
            assert np.signbit(x).tolist() == [False, True]


# -- what is said of them


@pytest.mark.parametrize("value", ["1 if (1 + 2j) > y else 2", "y @ 2"])
@pytest.mark.parametrize(("grid", "block", "races"), [(1, 1, False), (2, 1, True), (1, 2, True), (1, 40, True)])
def test_an_error_tells_of_the_mistakes_met_before_it(grid, block, races, value):
    lines = (
        f"y = 0.0\nfor k in range(9):\n    y += out[0]\n    if k == 7:\n        out[0] = i\n        out[i] = {value}"
    )
    with pytest.raises(UnsupportedError) as error:
        launched(lines, np.zeros(64), block, grid)
    assert bool(error.value.findings) == races


def test_two_threads_that_store_numbers_far_from_0_race_where_a_bit_differs():
    """2**60 and 2**60 + 1 are one number in double precision."""
    one = "if i == {}:\n    for k in range(5):\n        wide[0] = (1 << 60) + {}\n"
    text = "wide = cuda.shared.array(1, int64)\n" + one.format(0, "(k == 2)") + one.format(33, 0)
    _, findings = launched(text, np.zeros(1), 40)
    assert ["wide[0]" in finding.message for finding in findings] == [True]


UPDATED = """
    if i == 0 or i == 5:
        cuda.atomic.add(out, 0, 1)
    cuda.syncthreads()
    if i == 2 or i == 3:
        for k in range(9):
            cuda.atomic.add(out, 0, 1)
    if i == 4:
        counts[0] = out[0]
"""
STORED = """
    if i == 0:
        out[0] = 1
    cuda.syncthreads()
    if 0 < i < 6:
        for k in range(9):
            cuda.atomic.add(out, 0, 1)
    cuda.syncthreads()
    if i == 6:
        counts[0] = out[0]
"""


def test_what_was_done_before_is_known_behind_a_loop_of_updates():
    for text, grid in [(UPDATED, 1), (STORED, 2)]:
        _, findings = launched(text, np.zeros(1, np.int64), 6, grid)
        assert ["out[0] is" in finding.message for finding in findings] == [True] * len(findings) != []


# -- what they print


def printed(capsys, text, **options):
    out = np.zeros(64)
    launched(text, out, **options)
    return capsys.readouterr().out.splitlines()


def test_several_threads_print_turn_by_turn(capsys):
    lines = printed(capsys, "for k in range(40):\n    if k % 10 == 3 and i < 2:\n        print(k, i)")
    assert lines == [f"{k} {i}" for k in (3, 13, 23, 33) for i in range(2)]


def test_a_thread_prints_numbers_of_all_types(capsys):
    text = """
        x, z = uint8(i), uint64(0)
        for k in range(40):
            x = uint8(x * 3 + k)
            z -= uint64(1)
            if i == 5 and k == 2:
                print(x, z, k / 4, k > 0, "of", z * uint64(3), math.sqrt(float32(k + 2)))
                print()
    """
    x = ((5 * 3 % 256 * 3 + 1) % 256 * 3 + 2) % 256
    assert printed(capsys, text) == [f"{x} {2**64 - 3} 0.500000 True of {2**64 - 9} 2.000000", ""]


def test_lines_before_a_loop_is_given_up_are_printed(capsys):
    text = """
        k = 0
        while k < 40 or i == 1:
            k += 1
            if i == 7 and k == 30:
                print("on", k)
    """
    with pytest.raises(UnsupportedError, match="ran 300 iterations"):
        printed(capsys, text, limits=Limits(iterations=300))
    assert capsys.readouterr().out == "on 30\n"
