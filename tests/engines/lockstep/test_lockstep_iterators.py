"""Iterators that a variable holds: each thread goes through one once, in several loops or in a device function."""

import numpy as np
import pytest
from helpers.lockstep_text import body, launch_text, result, rows

from smemviz.errors import UnsupportedError


def test_an_iterator_that_a_variable_holds_loads_what_it_goes_over():
    data, out = np.arange(1.0, 6), np.zeros(32)
    text = "i = cuda.laneid\npairs = enumerate(data)\nif i < 8:\n    for k, x in pairs:\n        out[i] += k * x"
    launch, _ = body(text, data, out, parameters="data, out")
    assert (launch.sites[0].source, launch.sites[0].op) == ("data", "load")
    assert len(rows(launch, 0)) == 5
    assert out.tolist() == [40.0] * 8 + [0.0] * 24  # 0 * 1 + 1 * 2 + 2 * 3 + 3 * 4 + 4 * 5


def test_threads_that_part_go_through_one_iterator_each():
    text = """
        numbers = iter(range(4))
        i = cuda.laneid
        if i < 3:
            for k in numbers:
                out[i] += k
        else:
            for k in numbers:
                out[i] += 10 * k
    """
    assert result(text).tolist() == [6] * 3 + [60] * 29


def test_a_second_loop_gets_what_the_first_one_left_of_an_iterator():
    data, out = np.arange(1.0, 6), np.zeros(32)
    text = """
        i = cuda.laneid
        items = iter(data)
        for x in items:
            out[i] += x
            break
        for x, y in zip(items, items):
            out[i] += 10 * x * y
        for x in items:
            out[i] += 1000 * x
        for x in items:
            out[i] = -1
    """
    launch, _ = body(text, data, out, parameters="data, out")
    assert out.tolist() == [1 + 10 * (2 * 3 + 4 * 5)] * 32  # as compiled by numba-cuda 0.30.4, and in Python
    assert len(rows(launch, 0)) == 5


def test_a_loop_in_a_loop_takes_the_items_of_both():
    text = "n = iter(range(4))\nfor k in n:\n    for m in n:\n        out[cuda.laneid] += 10 * k + m"
    assert result(text).tolist() == [1 + 2 + 3] * 32


def test_threads_that_left_an_iterator_at_different_items_do_not_go_on_in_lockstep():
    text = """
        numbers = iter(range(4))
        for k in numbers:
            if k == cuda.laneid:
                break
        for k in numbers:
            out[k] = 2
    """
    said = r":12: iter\(range\(4\)\), gone on with by threads that left it at different items, is not executed in lock"
    with pytest.raises(UnsupportedError, match=said):
        result(text)


def test_an_iterator_in_a_zip_keeps_the_item_for_which_the_one_before_it_has_no_partner():
    text = """
        i = cuda.laneid
        numbers = iter(range(34))
        for x, y in zip(range(i), numbers):
            out[i] += x - y
        if i == 31:
            for y in numbers:
                out[i] += y
    """
    assert result(text).tolist() == [0] * 31 + [31 + 32 + 33]  # as compiled by numba-cuda 0.30.4, and in Python


def test_a_device_function_loads_from_an_iterator_for_its_own_threads_only():
    data, out = np.arange(1.0, 6), np.zeros(32)
    text = """
        @cuda.jit(device=True)
        def first(items, i):
            if i > 2:
                for x in items:
                    return x
            return 0.0

        @cuda.jit
        def kernel(data, out):
            i = cuda.laneid
            items = iter(data)
            out[i] = first(items, i)
    """
    launch, _ = launch_text(text, data, out)
    assert out.tolist() == [0.0] * 3 + [1.0] * 29
    assert [np.flatnonzero(row >= 0).tolist() for row in rows(launch, 0)] == [list(range(3, 32))]
