"""Local arrays: seen as elements of another width, and several under one name."""

import numpy as np
from helpers.lockstep_text import result

LANES = np.arange(32)


def test_four_floats_loaded_as_one_element_of_16_bytes_are_the_four_floats():
    out = result(
        """
        table = cuda.shared.array((32, 4), float32)
        for j in range(4):
            table[cuda.threadIdx.x, j] = 10 * cuda.threadIdx.x + j
        part = cuda.local.array(8, float32)
        vectors = part.view(np.complex128)
        vectors[1] = table.view(np.complex128)[cuda.threadIdx.x, 0]
        for j in range(4):
            out[cuda.threadIdx.x, j] = part[4 + j]
        """,
        np.float32,
        (32, 4),
    )

    np.testing.assert_array_equal(out, 10 * LANES[:, None] + np.arange(4))


def test_what_is_stored_in_the_narrow_elements_is_read_in_the_wide_one_and_back():
    wide = """
        part = cuda.local.array((2, 2), uint32)
        words = part.view(np.uint64)
        for i in range(2):
            for j in range(2):
                part[i, j] = 100 * cuda.threadIdx.x + 10 * i + j
        out[cuda.threadIdx.x] = words[cuda.threadIdx.x % 2, 0]
        """
    back = """
        part = cuda.local.array(4, float32)
        again = part.view(np.complex128).view(np.float32)
        part[2] = cuda.threadIdx.x
        again[3] = part[2] + 1
        out[cuda.threadIdx.x] = again[2] + part[3]
        """
    low = 100 * LANES + 10 * (LANES % 2)
    np.testing.assert_array_equal(result(wide, np.uint64), (low + ((low + 1) << 32)).astype(np.uint64))
    np.testing.assert_array_equal(result(back, np.float32), 2 * LANES + 1)


def test_a_part_of_a_wide_element_is_replaced_in_the_active_threads_only():
    for index in ["1", "cuda.threadIdx.x % 2"]:
        out = result(
            f"""
        words = cuda.local.array(1, uint64)
        halves = words.view(np.uint32)
        words[0] = 0
        if cuda.threadIdx.x >= 8:
            halves[{index}] = cuda.threadIdx.x
        out[cuda.threadIdx.x] = words[0] if cuda.threadIdx.x != 9 else halves[{index}]
        """,
            np.uint64,
        )

        at = LANES % 2 if "thread" in index else np.ones(32, int)
        wanted = np.where(LANES < 8, 0, LANES << (32 * at))
        wanted[9] = 9
        np.testing.assert_array_equal(out, wanted)


def test_one_name_stands_for_the_arrays_of_two_ways_each_in_its_threads():
    out = result(
        """
        x = cuda.threadIdx.x
        if x % 2 == 0:
            mine = cuda.local.array(2, int32)
            for k in range(2):
                mine[k] = x + k
            out[x] = mine[1]
        else:
            mine = cuda.local.array(2, int32)
            mine[0] = -x
            out[x] = mine[0]
        if x % 2 == 0:
            out[x] += mine[0]
        """,
        np.int32,
    )

    np.testing.assert_array_equal(out, np.where(LANES % 2 == 0, 2 * LANES + 1, -LANES))


def test_a_name_changes_its_array_in_some_threads_in_every_turn_of_a_loop():
    out = result(
        """
        x = cuda.threadIdx.x
        one = cuda.local.array(1, int32)
        other = cuda.local.array(1, int32)
        one[0] = 0
        other[0] = 100
        held = one
        for turn in range(4):
            if turn <= x:
                if turn % 2 == 0:
                    held = other
                    held[0] += 1
                else:
                    held = one
                    held[0] += 10
        if x == 0:
            out[x] = held[0]
        elif x == 1:
            out[x] = held[0]
        else:
            out[x] = one[0] + other[0]
        """,
        np.int32,
    )

    expected = [101, 10, 100 + 2 + 10, *[100 + 2 + 20] * 29]
    np.testing.assert_array_equal(out, expected)
