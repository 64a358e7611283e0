"""Shared memory that a kernel reads before any thread of the block wrote it."""

import numpy as np
import pytest
from helpers.lockstep_text import START, body, what

from smemviz.engines.lockstep import Limits


def found(text, out=None, **options):
    """Return the findings of a body as (kind, message)."""
    _, findings = body(text, np.zeros(4096, np.int64) if out is None else out, **options)
    return [(finding.kind, what(finding)) for finding in findings]


# The product of document 001: a tile of 32 x 32, filled by one thread per element.
TILED = """
    tile = cuda.shared.array((32, 32), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    tile[ty, tx] = 1
    cuda.syncthreads()
    total = float32(0)
    for k in range(32):
        total += tile[ty, k]
    out[ty, tx] = total
"""


def test_a_block_smaller_than_its_tile_reads_what_nobody_wrote():
    _, (finding,) = body(TILED, np.zeros((32, 32), np.float32), grid=(2, 2), block=(2, 2))

    assert (finding.kind, finding.kernel, finding.line) == ("unwritten_read", "kernel", START + 9)
    assert finding.block == (0, 0, 0)
    assert finding.threads == ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0))
    assert what(finding) == ("tile[0, 2] is read, but nothing wrote it: the block has 4 threads and tile 1024 elements")


def test_a_block_as_large_as_its_tile_reads_what_was_written():
    _, findings = body(TILED, np.zeros((32, 32), np.float32), grid=(2, 2), block=(32, 32))

    assert findings == ()


def test_memory_that_nobody_stored_in_has_no_zeros_to_count_from():
    text = """
        counts = cuda.shared.array(8, int32)
        cuda.atomic.add(counts, cuda.threadIdx.x % 8, 1)
        """

    assert found(text) == [
        ("unwritten_read", "counts[0] is updated, but nothing wrote it: shared memory does not start as zeros")
    ]


def test_an_element_left_out_is_named():
    text = """
        held = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        if t != 5:
            held[t] = t
        cuda.syncthreads()
        out[t] = held[31 - t]
        """

    assert found(text) == [
        ("unwritten_read", "held[5] is read, but nothing wrote it: 31 of the 32 elements of held are written")
    ]


def test_up_to_eight_threads_are_named_and_the_first_block_that_does_it():
    _, (finding,) = body(
        """
        held = cuda.shared.array(64, int32)
        t = cuda.threadIdx.x
        held[t] = t
        cuda.syncthreads()
        if cuda.blockIdx.x > 1:
            out[t] = held[t + 32]
        """,
        np.zeros(32, np.int64),
        grid=4,
    )

    assert finding.block == (2, 0, 0)
    assert finding.threads == tuple((t, 0, 0) for t in range(8))
    assert what(finding) == ("held[32] is read, but nothing wrote it: the block has 32 threads and held 64 elements")


@pytest.mark.parametrize("threads", [1 << 15, 32], ids=["one batch", "many batches"])
def test_what_one_block_wrote_is_not_written_in_another(threads):
    _, (finding,) = body(
        """
        held = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        if cuda.blockIdx.x != 3:
            held[t] = t
        out[cuda.grid(1)] = held[t]
        """,
        np.zeros(160, np.int64),
        grid=5,
        limits=Limits(threads_at_once=threads),
    )

    assert finding.block == (3, 0, 0)


def test_a_read_before_the_write_of_the_same_thread_is_found():
    text = """
        held = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        held[t] += 1
        """

    ((kind, message),) = found(text)
    assert kind == "unwritten_read"
    assert message.startswith("held[0] is read, but nothing wrote it: shared memory does not start as zeros")


def test_an_exchange_puts_a_value_there_whatever_was_before():
    text = """
        held = cuda.shared.array(1, int32)
        if cuda.threadIdx.x == 0:
            cuda.atomic.exch(held, 0, 3)
        cuda.syncthreads()
        out[0] = held[0]
        """

    assert found(text) == []


def test_a_padding_column_that_nobody_reads_need_not_be_written():
    text = """
        tile = cuda.shared.array((32, 33), int32)
        t = cuda.threadIdx.x
        for k in range(32):
            tile[k, t] = k
        cuda.syncthreads()
        for k in range(32):
            out[t] = tile[t, k]
        """

    assert found(text) == []


def test_views_of_dynamic_memory_see_what_another_wrote():
    text = """
        words = cuda.shared.array(0, int32)
        parts = cuda.shared.array(0, uint8)
        t = cuda.threadIdx.x
        words[t] = t
        cuda.syncthreads()
        out[t] = parts[4 * t]
        """

    assert found(text, dynamic=128) == []


def test_a_word_is_read_whole_when_only_a_part_of_it_was_written():
    text = """
        words = cuda.shared.array(0, int32)
        parts = cuda.shared.array(0, uint8)
        t = cuda.threadIdx.x
        parts[4 * t] = t
        parts[4 * t + 1] = t
        cuda.syncthreads()
        out[t] = words[t]
        """

    ((kind, message),) = found(text, dynamic=128)
    assert (kind, message) == (
        "unwritten_read",
        "words[0] is read, but nothing wrote it: 16 of the 32 elements of words are written",
    )


def test_a_name_that_stands_for_two_arrays_is_resolved_by_the_address():
    text = """
        one = cuda.shared.array(32, int32)
        two = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        one[t] = t
        for k in range(2):
            out[t] = one[t]
            one, two = two, one
        """

    assert found(text) == [
        ("unwritten_read", "two[0] is read, but nothing wrote it: shared memory does not start as zeros")
    ]


def test_threads_that_are_out_of_bounds_are_not_said_to_read():
    text = """
        held = cuda.shared.array(4, int32)
        t = cuda.threadIdx.x
        held[t % 4] = t % 4
        cuda.syncthreads()
        out[t] = held[t]
        """

    assert [kind for kind, _ in found(text)] == ["out_of_bounds"]
