"""Barriers in the condition of a loop: who comes to them by ``continue``, by the end of a turn, or not at all."""

import dis

import numpy as np
import pytest
from helpers.lockstep_text import START, body, what


def findings_of(text, block=64, **options):
    start = "t = cuda.threadIdx.x\nk = 0\n"
    out = np.zeros(block, np.int64)
    return body(start + text, out, block=block, harmless=True, **options)[1], out.tolist()


TWO_WAYS = "while cuda.syncthreads_or(int(k < 2)):\n  k += 1\n  if t {which}:\n    continue\n  out[t] += 1"


def test_a_warp_that_comes_to_a_barrier_of_a_loop_by_two_ways_is_found():
    (finding,), out = findings_of(TWO_WAYS.format(which="== 3"))

    assert (finding.kind, finding.line, finding.threads) == ("split_barrier", START + 4, ((3, 0, 0),))
    assert what(finding) == (
        "cuda.syncthreads_or(int(k < 2)) is reached by continue in some threads of a warp, by the end of the loop in "
        "others: Python compiles a condition twice, so they wait at two barriers, and a GPU may hang"
    )
    assert not finding.harmless
    assert out == [2, 2, 2, 0, *[2] * 60]


def test_python_compiles_the_condition_of_a_loop_twice():
    def loop(barrier, x):
        while barrier():
            if x():
                continue
            x()

    read = [instruction.argval for instruction in dis.get_instructions(loop)]
    assert read.count("barrier") == 2


FINE = [
    TWO_WAYS.format(which=">= 32"),  # whole warps
    TWO_WAYS.format(which=">= 0"),
    "while True:\n  if not cuda.syncthreads_or(int(k < 2)):\n    break\n  k += 1\n  if t == 3:\n    continue\n  k += 0",
    "while k < 2:\n  k += 1\n  if t == 3:\n    continue\n  out[t] += 1",
    "while cuda.syncthreads_or(int(k < 2)):\n  k += 1\n  if t == 3:\n    continue\n  else:\n    continue",
]


@pytest.mark.parametrize("text", FINE)
def test_a_warp_that_comes_to_it_by_one_way_is_fine(text):
    assert findings_of(text)[0] == ()


def test_a_barrier_in_a_function_that_the_condition_calls_counts():
    before = "@cuda.jit(device=True)\ndef any_left(k):\n  return cuda.syncthreads_count(int(k < 2)) > 0\n"
    text = TWO_WAYS.format(which="== 3").replace("cuda.syncthreads_or(int(k < 2))", "any_left(k)")

    assert [finding.kind for finding in findings_of(text, before=before)[0]] == ["split_barrier"]


@pytest.mark.parametrize(("after", "kind"), [("", "barrier_skipped"), ("\nout[t] += 1", "barrier_divergence")])
def test_threads_that_break_out_of_such_a_loop_miss_its_barrier(after, kind):
    text = "while cuda.syncthreads_or(int(k < 2)):\n  k += 1\n  if t == 3:\n    break\n  out[t] += 1"
    (finding,), _ = findings_of(text + after)

    assert (finding.kind, finding.line, finding.threads) == (kind, START + 4, ((3, 0, 0),))
