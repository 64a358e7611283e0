"""Threads that wait for a lock get it one after the other, and what it guards is theirs meanwhile."""

from textwrap import indent

import numpy as np
import pytest
from helpers.lockstep_text import START, body, launch_text
from helpers.tiers import one_in

from smemviz.engines.lockstep import Limits
from smemviz.errors import UnsupportedError

LOCK = "while cuda.atomic.cas(lock, 0, 0, 1) != 0:\n    pass\n"
ADD = "total[0] += i\ncuda.threadfence()\ncuda.atomic.exch(lock, 0, 0)\n"
TRY = """
while True:
    if cuda.atomic.cas(lock, 0, 0, 1) == 0:
        total[0] += i
        FENCE
        cuda.atomic.exch(lock, 0, 0)
        break
"""
NUMBER = "i = cuda.grid(1)\n"
FUNCTIONS = """
@cuda.jit(device=True)
def acquire(lock, k):
    while cuda.atomic.compare_and_swap(lock[k:], 0, 1) == 1:
        pass
    cuda.threadfence()

@cuda.jit(device=True)
def release(lock, k):
    cuda.threadfence()
    cuda.atomic.exch(lock, k, 0)

@cuda.jit
def kernel(lock, total, n):
    i = cuda.grid(1)
    for k in range(n):
        if (i + k) % 3 == 0:
            b = (i + k) % 4
            acquire(lock, b)
            total[b] += i
            release(lock, b)
"""


def run(text, **options):
    """Return the sum that 128 threads of 2 blocks leave, and the findings."""
    lock, total = np.zeros(1, np.int32), np.zeros(2, np.int64)
    _, findings = body(NUMBER + text, lock, total, parameters="lock, total", grid=2, block=64, **options)
    assert lock[0] == 0
    return total.sum(), findings


WAITS = {
    "wait": LOCK,
    "break": "while True:\n    if cuda.atomic.cas(lock, 0, 0, 1) == 0:\n        break\n    cuda.nanosleep(9)\n",
    "ask, then break": "while True:\n    got = cuda.atomic.cas(lock, 0, 0, 1)\n    if got == 0:\n        break\n",
    "ask again": "got = cuda.atomic.cas(lock, 0, 0, 1)\nwhile got != 0:\n    got = cuda.atomic.cas(lock, 0, 0, 1)\n",
    "ask again, from another type": "got = 1\nwhile got:\n    got = cuda.atomic.cas(lock, 0, 0, 1)\n",
}


@pytest.mark.parametrize(
    "threads", [pytest.param(1 << 15, id="one batch", marks=pytest.mark.exhaustive), pytest.param(64, id="two batches")]
)
@pytest.mark.parametrize(
    "text",
    [
        *one_in(2, [pytest.param(wait + ADD, id=name) for name, wait in WAITS.items()]),
        pytest.param(TRY.replace("FENCE", "cuda.threadfence()"), id="try"),
    ],
)
def test_every_thread_gets_the_lock_once(text, threads):
    total, findings = run(text, limits=Limits(threads_at_once=threads))
    assert total == sum(range(128))
    assert findings == ()


def test_one_thread_of_each_block_gets_it_too():
    text = "if cuda.threadIdx.x == 5:\n" + indent(LOCK + ADD, "    ")
    assert run(text) == (5 + 69, ())


def test_all_go_on_together_once_nobody_waits():
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int64)
    text = NUMBER + LOCK + ADD + "cuda.syncthreads()\nout[i] = i"
    launch, findings = body(text, lock, total, np.zeros(64), parameters="lock, total, out", block=64)
    requests = {site.source: row.requests for site, row in zip(launch.sites, launch.summary(), strict=True)}
    assert requests["out[i]"] == 2
    assert findings == ()


def test_threads_may_wait_for_their_turn():
    text = "while lock[0] != i:\n    pass\ntotal[0] = 3 * total[0] + i\ncuda.threadfence()\nlock[0] += 1"
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int64)
    body(NUMBER + text, lock, total, parameters="lock, total", grid=2, block=8)
    expected = 0
    for i in range(16):
        expected = 3 * expected + i
    assert (total[0], lock[0]) == (expected, 16)


def test_threads_may_look_with_an_update_by_nothing():
    for look in ["add", "sub", "or_", "xor"]:
        text = f"while cuda.atomic.{look}(lock, i, 0) == 0:\n    pass\ntotal[0] = 3 * total[0] + i\n"
        lock, total = np.zeros(17, np.int32), np.zeros(1, np.int64)
        lock[0] = 1
        text = f"{NUMBER}{text}cuda.threadfence()\ncuda.atomic.exch(lock, i + 1, 1)"
        body(text, lock, total, parameters="lock, total", grid=2, block=8, harmless=True)
        expected = 0
        for i in range(16):
            expected = 3 * expected + i
        assert total[0] == expected


SEARCHES = {
    "to the end of a list": ("p = 0\nwhile p != 9:\n    p = given[p]\ntotal[0] = p", 9),
    "for a number": ("p = 0\nwhile given[p] != 9:\n    p = p + 1\ntotal[0] = p", 8),
    "until it is done": ("p = 0\nwhile True:\n    p = given[p]\n    if p == 9:\n        break\ntotal[0] = p", 9),
    "in a queue": ("while True:\n    p = cuda.atomic.add(total, 0, 1)\n    if p >= 200:\n        break", 200 + 128),
}


def test_a_loop_that_goes_on_from_turn_to_turn_does_not_only_wait():
    for text, expected in SEARCHES.values():
        given, total = np.arange(1, 11), np.zeros(1, np.int64)
        body(text, given, total, parameters="given, total", grid=2, block=64, harmless=True)
        assert total[0] == expected


def test_a_loop_whose_condition_changes_something_does_not_only_wait():
    for text, expected in [
        ("while cuda.atomic.add(total, 0, 1) < 50000:\n    pass\n", 50000 + 128),
        ("while draw(mine) > 0:\n    pass\ncuda.atomic.add(total, 0, mine[0])\n", 0),
    ]:
        before = "@cuda.jit(device=True)\ndef draw(left):\n    left[0] -= 1\n    return left[0]\n\n"
        mine = "mine = cuda.local.array(1, int32)\nmine[0] = 300 + i\n"
        lock, total = np.zeros(1, np.int32), np.zeros(1, np.int64)
        body(NUMBER + mine + text, lock, total, parameters="lock, total", before=before, grid=2, block=64)
        assert total[0] == expected


def test_who_has_the_lock_may_return():
    total, findings = run(LOCK + ADD + "if i % 2:\n    return\ncuda.atomic.add(total, 1, 1000)\n")
    assert total == sum(range(128)) + 64 * 1000
    assert findings == ()


def test_a_lock_without_a_fence_guards_nothing():
    """Another multiprocessor may see the lock released before it sees what was stored."""
    _, findings = run(TRY.replace("FENCE", "x = 1"))
    assert [(finding.kind, finding.line) for finding in findings] == [("race", START + 6)]


SHARED = """
lock = cuda.shared.array(1, int32)
s = cuda.shared.array(2, int32)
i = cuda.threadIdx.x
if i == 0:
    lock[0] = s[0] = s[1] = 0
cuda.syncthreads()
while cuda.atomic.cas(lock, 0, 0, 1) != 0:
    pass
s[0] += i
total[cuda.blockIdx.x] += i
FENCE
cuda.atomic.exch(lock, 0, 0)
OTHERS
cuda.syncthreads()
if i == 0:
    total[2] += s[0] + s[1]
"""


def test_a_lock_of_a_block_guards_its_shared_memory_and_what_is_its_own_in_global_memory():
    for fence in ["cuda.threadfence_block()", "cuda.threadfence()"]:
        total = np.zeros(3, np.int64)
        _, findings = body(SHARED.replace("FENCE", fence).replace("OTHERS", ""), total, parameters="total", block=64)
        assert total.tolist() == [sum(range(64)), 0, sum(range(64))]
        assert findings == ()


@pytest.mark.parametrize(
    ("fence", "others", "message"),
    [
        ("x = 1", "", "s[0] is loaded by thread"),
        ("cuda.threadfence_block()", "x = s[0]", "s[0] is updated by thread"),
        ("cuda.threadfence_block()", "s[1] += i", "s[1] is loaded by thread"),
    ],
    ids=["without a fence", "loaded without the lock", "stored without the lock"],
)
def test_what_a_lock_does_not_guard_in_shared_memory_races(fence, others, message):
    text = SHARED.replace("FENCE", fence).replace("OTHERS", others)
    _, findings = body(text, np.zeros(3, np.int64), parameters="total", block=64)
    assert any(finding.message.startswith(message) for finding in findings), findings
    assert {finding.kind for finding in findings} == {"race"}


def test_several_locks_are_taken_and_released_by_functions():
    lock, total = np.zeros(4, np.int32), np.zeros(4, np.int64)
    _, findings = launch_text(FUNCTIONS, lock, total, 5, grid=2, block=64)
    pairs = [(i, i + k) for i in range(128) for k in range(5) if (i + k) % 3 == 0]
    assert total.tolist() == [sum(i for i, where in pairs if where % 4 == b) for b in range(4)]
    assert lock.tolist() == [0, 0, 0, 0]
    assert findings == ()


def test_each_holder_makes_requests_of_its_own():
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int64)
    launch, _ = body(NUMBER + LOCK + ADD, lock, total, parameters="lock, total", block=32)
    by_source = {(site.source, site.op): row.requests for site, row in zip(launch.sites, launch.summary(), strict=True)}
    assert by_source["total[0]", "store"] == 32
    assert by_source["cuda.atomic.exch(lock, 0, 0)", "atomic_exch"] == 32


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            LOCK + "total[0] += i\n",
            "while cuda.atomic.cas(lock, 0, 0, 1) != 0: no thread is left to end this wait; release the lock, or move "
            "what is waited for before it",
        ),
        (
            "if i == 0:\n    while lock[0] == 0:\n        pass\nelse:\n    lock[0] = 1\n",
            "while lock[0] == 0: no thread here ends this wait, and in lockstep the others continue only after it; "
            "move what is waited for before it, or run with engine gpu",
        ),
    ],
    ids=["not released", "done too late"],
)
def test_a_wait_that_nobody_ends_is_said_at_once(text, what):
    with pytest.raises(UnsupportedError) as error:
        run(text)
    assert error.value.what == what


RELEASE = "cuda.threadfence_block()\ncuda.atomic.exch(shared, 0, 0)\n"
WAIT = LOCK.replace("lock", "shared")
LOOPS = {
    "a loop with the lock held": f"{WAIT}for k in range(20):\n    s[k % 4] += k + i\n{RELEASE}",
    "a thread takes it again and again": "if i == 2:\n    for k in range(20):\n"
    + indent(f"{WAIT}s[0] += k\n{RELEASE}", " " * 8),
    "a loop that tries": TRY.replace("lock", "shared").replace("total", "s").replace("FENCE", "cuda.threadfence()"),
    "a loop with a lock in global memory": f"{LOCK}for k in range(20):\n    total[k % 3] += k\n{ADD}",
}
LEFT = {  # in s and in total, by so many threads
    "a loop with the lock held": lambda n: (
        [5 * sum(range(n)) + n * sum(range(k, 20, 4)) for k in range(4)],
        [0, 0, 0],
    ),
    "a thread takes it again and again": lambda n: ([190, 0, 0, 0], [0, 0, 0]),
    "a loop that tries": lambda n: ([sum(range(n)), 0, 0, 0], [0, 0, 0]),
    "a loop with a lock in global memory": lambda n: (
        [0, 0, 0, 0],
        [n * sum(range(k, 20, 3)) + (k == 0) * sum(range(n)) for k in range(3)],
    ),
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("block", [3, pytest.param(40, marks=pytest.mark.exhaustive)])
def test_loops_are_guarded_as_well(name, block):
    start = "shared = cuda.shared.array(1, int32)\ns = cuda.shared.array(4, int32)\ni = cuda.threadIdx.x\n"
    start += "if i == 0:\n    shared[0] = 0\n    for k in range(4):\n        s[k] = 0\ncuda.syncthreads()\n"
    end = "cuda.syncthreads()\nif i == 0:\n    for k in range(4):\n        out[k] = s[k]\n"
    lock, total, out = np.zeros(1, np.int32), np.zeros(3, np.int64), np.zeros(4, np.int64)
    text = start + LOOPS[name] + end
    _, findings = body(text, lock, total, out, parameters="lock, total, out", block=block, harmless=True)
    assert (out.tolist(), total.tolist()) == LEFT[name](block)
    assert findings == ()
