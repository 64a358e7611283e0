"""Loops of few threads whose turns are all alike, of which little is noted: they leave what is interpreted leaves."""

import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import both_ways
from helpers.lockstep_text import body
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from smemviz.engines.lockstep.python.one_thread.accesses import Accesses, NotTogetherError
from smemviz.engines.lockstep.python.one_thread.together import requests

HEAD = """
    i = cuda.threadIdx.x
    tile = cuda.shared.array((32, 37), float32)
    row = cuda.shared.array(1100, int32)
    wide = cuda.shared.array(128, int64)
    x, before, old = 0, 3, 2
    for k in range(33):
        row[i * 33 + k] = tile[i, k] = k
    wide[i] = wide[i + 64] = i
"""
ONCE = {
    "a row": "for k in range(33):\n    row[i * 33 + k] = k * i",
    "from the end": "for k in range(32, -1, -2):\n    row[i * 33 + k] += k",
    "two axes": "for k in range(i % 5, 33, 2):\n    tile[i, k] += 1",
    "one element": "for k in range(9):\n    row[i * 33] += k\n    x += real[k + i]",
    "several elements": "for k in range(1, 30):\n    tile[i, k] = tile[i, k - 1] + tile[i, k + 1] + real[2 * k]",
    "an index with a name": "for k in range(9):\n    at = 2 * k + i * 33\n    row[at] = at\n    row[at + 1] = k",
    "one that changes later": "for k in range(9):\n    at = i * 33 + k\n    row[at] = k\n    at = k\n    x += real[at]",
    "integers of 64 bits": "for k in range(9):\n    wide[i] = wide[i] * 6364136223846793005 + k",
}
EACH = {
    "another's turn": "for k in range(9):\n    row[i * 33 + old] += k\n    old = 2 * k",
    "what is counted": "for k in range(9):\n    row[i * 33 + before] = k\n    before += 2",
    "now and then": "for k in range(9):\n    if k % 2:\n        before = k\n    row[i * 33 + before] = k",
    "what is loaded": "for k in range(9):\n    row[i * 33 + int(real[k] * 30)] += 1",
    "a remainder": "for k in range(40):\n    row[i * 33 + k % 7] += 1",
    "its number": "for k in range(9):\n    row[i * 33 + k] += 1\n    k = k * k\n    x += k",
}
OTHERS = {
    "counted from the end": "for k in range(9):\n    tile[i, -1] += 1\n    x += tile[i, ~k] + real[-3]",
    "from the end or the start": "for k in range(9):\n    row[i * 33 + k] = k\n    x += real[-(k // 3)]",
    "rows from the end": "for k in range(9):\n    tile[-1 - i][k] = k\n    x += tile[-1 - i, 2:][-k - 1]",
    "loops in loops": "for j in range(i % 3, 5):\n    for k in range(j):\n        row[i * 33 + j * k] += real[k]",
    "a square": "for k in range(5):\n    row[i * 33 + k * k] = k",
}


pytestmark = pytest.mark.usefixtures("way")


def launch_of(lines, block):
    text = f"{textwrap.dedent(HEAD)}{lines}\nout[i] = x"

    def launch():
        out, real = np.zeros(64), np.random.default_rng(1).random(100, dtype=np.float32)
        return body(text, out, real, parameters="out, real", block=block, harmless=True), out

    return launch


@pytest.mark.parametrize("lines", (ONCE | EACH | OTHERS).values(), ids=ONCE | EACH | OTHERS)
@pytest.mark.parametrize("block", [4, 32])
def test_a_loop_whose_turns_are_alike_leaves_the_same_in_few_threads(monkeypatch, lines, block):
    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, block))

    assert alone == interpreted
    assert ran > 0


@pytest.mark.parametrize("lines", (ONCE | EACH).values(), ids=ONCE | EACH)
def test_of_what_grows_evenly_the_first_and_the_last_are_noted(monkeypatch, way, lines):
    noted, hand_on, take = [], Accesses.hand_on, Accesses.take
    monkeypatch.setattr(Accesses, "hand_on", lambda own: noted.append(len(own.noted)) or hand_on(own))
    monkeypatch.setattr(Accesses, "take", lambda own, *of: noted.append(len(of[1])) or take(own, *of))

    launch_of(lines, 4)()

    if "parts" not in way:
        assert (max(noted[-2:]) <= 8) == (lines in ONCE.values())  # machine code hands on nothing that it has noted


def test_of_no_turn_at_all_nothing_is_noted(monkeypatch):
    """Else what follows has places of others, whom these threads seem to meet: the interpreter does it all again."""
    met, look = [], requests._look_for_meetings

    def looked(*did):
        try:
            look(*did)
        except NotTogetherError:
            met.append(did)
            raise

    monkeypatch.setattr(requests, "_look_for_meetings", looked)
    lines = "for j in range(9):\n    for k in range(j % 3):\n        row[i * 33 + 3 * j + k] += k"
    alone, interpreted, _ = both_ways(monkeypatch, launch_of(lines, 4))

    assert alone == interpreted
    assert met == []


INDICES = st.sampled_from(
    ["k", "2 * k", "k + j", "k * j", "30 - k", "3", "j", "k * k", "k % 3", "n", "(k + 1) * 2 - k"]
)


@pytest.mark.exhaustive
@settings(deadline=None, max_examples=60, phases=[Phase.generate])
@given(
    indices=st.lists(INDICES, min_size=1, max_size=4),
    ends=st.sampled_from(["5", "i % 4", "1, 6", "5, 0, -1", "j, 6", "0"]),
    counts=st.booleans(),
)
def test_random_loops_leave_the_same_in_few_threads(indices, ends, counts):
    lines = ["for j in range(4):", "    n = j", f"    for k in range({ends}):"]
    lines += [f"        row[i * 33 + {index}] += real[{index}] + {place}" for place, index in enumerate(indices)]
    lines += ["        n = n + 2 if n < 20 else 1"] * counts

    with pytest.MonkeyPatch.context() as patch:
        alone, interpreted, _ = both_ways(patch, launch_of("\n".join(lines), 6))
    assert alone == interpreted
