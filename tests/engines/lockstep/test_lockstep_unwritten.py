"""Shared memory that a kernel reads before any thread of the block wrote it."""

import numpy as np
import pytest
from helpers.lockstep_text import START, body, what

from smemviz.engines.lockstep import Limits


def found(text, **options):
    """Return the findings of a body of threads ``t`` as (kind, message)."""
    _, findings = body(f"t = cuda.threadIdx.x\n{text}", np.zeros(4096, np.int64), **options)
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


NO_ZEROS = "shared memory does not start as zeros"
HELD = "held = cuda.shared.array({}, int32)\n"
VIEWS = "words = cuda.shared.array(0, int32)\nparts = cuda.shared.array(0, uint8)\n"
BARRIER = "cuda.syncthreads()\n"
UNWRITTEN = {
    "counted from zeros": (
        "counts = cuda.shared.array(8, int32)\ncuda.atomic.add(counts, t % 8, 1)",
        f"counts[0] is updated, but nothing wrote it: {NO_ZEROS}",
    ),
    "one element is left out": (
        f"{HELD.format(32)}if t != 5:\n    held[t] = t\n{BARRIER}out[t] = held[31 - t]",
        "held[5] is read, but nothing wrote it: 31 of the 32 elements of held are written",
    ),
    "read before the same thread writes it": (
        f"{HELD.format(32)}held[t] += 1",
        f"held[0] is read, but nothing wrote it: {NO_ZEROS}",
    ),
    "a part of a word is written": (
        f"{VIEWS}parts[4 * t] = t\nparts[4 * t + 1] = t\n{BARRIER}out[t] = words[t]",
        "words[0] is read, but nothing wrote it: 16 of the 32 elements of words are written",
    ),
    "a name stands for two arrays": (
        "one = cuda.shared.array(32, int32)\ntwo = cuda.shared.array(32, int32)\none[t] = t\n"
        "for k in range(2):\n    out[t] = one[t]\n    one, two = two, one",
        f"two[0] is read, but nothing wrote it: {NO_ZEROS}",
    ),
}
WRITTEN = {
    "exchanged, whatever was before": f"{HELD.format(1)}if t == 0:\n    cuda.atomic.exch(held, 0, 3)\n"
    f"{BARRIER}out[0] = held[0]",
    "a padding column that nobody reads": "tile = cuda.shared.array((32, 33), int32)\n"
    "for k in range(32):\n    tile[k, t] = k\n"
    f"{BARRIER}for k in range(32):\n    out[t] = tile[t, k]",
    "written by another view of dynamic memory": f"{VIEWS}words[t] = t\n{BARRIER}out[t] = parts[4 * t]",
}


def test_what_is_read_and_nobody_wrote_is_named():
    for text, message in UNWRITTEN.values():
        assert found(text, dynamic=128) == [("unwritten_read", message)]


def test_what_was_written_is_not():
    for text in WRITTEN.values():
        assert found(text, dynamic=128) == []


def test_up_to_eight_threads_are_named_and_the_first_block_that_does_it():
    text = f"t = cuda.threadIdx.x\n{HELD.format(64)}held[t] = t\n{BARRIER}"
    text += "if cuda.blockIdx.x > 1:\n    out[t] = held[t + 32]"
    _, (finding,) = body(text, np.zeros(32, np.int64), grid=4)

    assert finding.block == (2, 0, 0)
    assert finding.threads == tuple((t, 0, 0) for t in range(8))
    assert what(finding) == "held[32] is read, but nothing wrote it: the block has 32 threads and held 64 elements"


@pytest.mark.parametrize("threads", [1 << 15, 32], ids=["one batch", "many batches"])
def test_what_one_block_wrote_is_not_written_in_another(threads):
    text = (
        f"t = cuda.threadIdx.x\n{HELD.format(32)}if cuda.blockIdx.x != 3:\n    held[t] = t\nout[cuda.grid(1)] = held[t]"
    )
    _, (finding,) = body(text, np.zeros(160, np.int64), grid=5, limits=Limits(threads_at_once=threads))

    assert finding.block == (3, 0, 0)


def test_threads_that_are_out_of_bounds_are_not_said_to_read():
    text = f"{HELD.format(4)}held[t % 4] = t % 4\n{BARRIER}out[t] = held[t]"
    assert [kind for kind, _ in found(text)] == ["out_of_bounds"]
