"""Names that a loop of few threads, or one, gives to several arrays."""

import textwrap

import numpy as np
import pytest
from helpers.alone_both_ways import WAYS, both_ways, run_few
from helpers.lockstep_text import launch_text, result

KERNEL = """
@cuda.jit(device=True)
def total(a, n):
    s = 0
    for k in range(n):
        s += a[k]
    return s

@cuda.jit
def kernel(out, given, other, n):
    i = cuda.threadIdx.x
    own, old, third = (cuda.local.array(6, int32), cuda.local.array(6, int32), cuda.local.array(6, int32))
    s, t = cuda.shared.array((6, 64), int32), cuda.shared.array((6, 64), int32)
    x = 0
    for k in range(6):
        own[k], old[k], third[k] = k, i, 1
        s[k, i], t[k, i] = k, i
{body}
    out[i] += x + own[0] * 100 + old[1] * 1000 + own[2]
    cuda.syncthreads()
    if i > 0:
        out[i] += s[1, i - 1] + t[2, i - 1]
"""
ALIKE = {
    "two local arrays": """
for k in range(20):
    for j in range(1, 6):
        own[j] = old[j - 1] + k
        x += own[j] % 7
    own, old = old, own
""",
    "by a third name": """
for k in range(20):
    own[k % 6] += old[(k + 1) % 6]
    rest = own
    own = old
    old = rest
""",
    "three of them": """
for k in range(20):
    own[k % 6] = old[(k + i) % 6] - third[k % 5]
    x += own[0] * 3 + old[k % 6]
    own, old, third = old, third, own
""",
    "shared memory": """
for k in range(n + 13):
    for j in range(1, 6):
        s[j, i] += t[j - 1, i]
    s, t = t, s
    x += s[0, i] + t.shape[0] - len(s)
""",
    "one of two": """
for k in range(20):
    row = given if k % 3 else other
    x += row[(k + i) % 20]
    if x > 90 + i:
        break
""",
    "one of two for a while": """
row = given
for k in range(20):
    if k % 4 == 3:
        row = other
    elif k % n == 0:
        row = given
    else:
        x += 1
    for j in range(k % 5):
        x += row[j + i] * 2
""",
    "functions of them": """
for k in range(20):
    row = third if k < 9 else own
    x += total(row, 4) + row.size
    own, old = old, own
    own[k % 6] = total(old, 6) % 99
""",
    "as many turns as there are, in each thread": """
while x < 50 + 20 * i:
    x += own[x % 6] + 2
    own, old = old, own
""",
    "in two loops": """
for k in range(5):
    for j in range(n):
        own[j % 6] += old[(j + k) % 6]
        own, old = old, own
    x += own[k % 6]
    if x % 11 == i % 11:
        own[1] = 5
        return
""",
    "behind a loop that was not left": """
for k in range(20):
    for j in range(1, 6):
        if own[j] > 9 + k:
            break
        own[j] += old[j - 1]
    else:
        x += old[k % 6]
    own, old = old, own
""",
}
ONE = {
    "as one thread wants": """
for k in range(20):
    if own[k % 6] > old[(k + 1) % 6]:
        own, old = old, own
        if k % 5 == 2:
            continue
    own[k % 6] += old[k % 4] + k % 7
    row = given if own[2] % 2 else other
    x += row[k]
""",
    "a place that is outside": """
for k in range(20):
    row = given if k % 2 else other
    x += row[k * 2]
""",
    "a number of turns for each": """
for k in range(5):
    for j in range((i + k) % 4):
        own[j] += old[k] + 1
        own, old = old, own
    x += own[0]
""",
}
APART = {
    "one that is the same in all threads that go on": """
for k in range(30 - i):
    row = given if (k + i // 20) % 3 else other
    x += row[k]
""",
    "not the same in all threads": "for k in range(20):\n    row = given if (k + i) % 2 else other\n    x += row[k]",
    "a tuple that is not the same": """
a, b = (i // 4, 2), (0, 2)
for k in range(6):
    if a == b:
        s, t = t, s
    s[0, i] = k
""",
    "turns that some skip": """
for k in range(20):
    if (k + i) % 3 == 0:
        continue
    x += own[k % 6]
    own, old = old, own
""",
    "ends that some have": """
for k in range(4):
    for j in range(i):
        own, old = old, own
    x += own[j % 6]
""",
    "read in a condition": "while own[x % 6] < 9:\n    own[x % 6] += 1 + old[0]\n    x += 1\n    own, old = old, own",
    "again and again": "for k in range(9):\n"
    + "    if own[k % 6] % 2:\n        own, old = old, own\n    own[1] += old[k % 6]\n" * 12,
    "an array and a number": "for k in range(9):\n    own, x = old, x + 1\n    x += own[k % 6]",
    "more than there are texts for": "for k in range(9):\n    own, old = old, own\n"
    "    row = given if k % 2 else other\n"
    "    line = own if k % 3 else old\n    third, part = line, third\n    x += part[0] + row[k]",
}


def launch_of(lines, block):
    text = KERNEL.format(body=textwrap.indent(lines, "    "))

    def launch():
        out, given, other = np.zeros(64, np.int64), np.arange(32) % 7, np.arange(32) % 5
        return launch_text(text, out, given, other, 3, block=block, harmless=True), out

    return launch


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("block", [1, 9])
@pytest.mark.parametrize("lines", ALIKE.values(), ids=ALIKE)
def test_arrays_change_their_names_and_all_else_is_the_same(monkeypatch, lines, block, way):
    run_few(monkeypatch, way)

    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, block))

    assert alone == interpreted
    assert ran > 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("block", [1, 9])
@pytest.mark.parametrize("lines", ONE.values(), ids=ONE)
def test_one_thread_gives_names_as_it_wants(monkeypatch, lines, block, way):
    run_few(monkeypatch, way)

    alone, interpreted, ran = both_ways(monkeypatch, launch_of(lines, block))

    assert alone == interpreted
    assert ran > 1 or block > 1


@pytest.mark.parametrize("block", [1, 9])
@pytest.mark.parametrize("lines", APART.values(), ids=APART)
def test_what_is_not_known_of_names_is_left_to_the_interpreter(monkeypatch, lines, block):
    alone, interpreted, _ = both_ways(monkeypatch, launch_of(lines, block))

    assert alone == interpreted


def test_a_name_is_one_of_two_arrays_where_all_threads_choose_the_same():
    text = """
        i = cuda.threadIdx.x
        own, other = cuda.local.array(2, int32), cuda.local.array(2, int32)
        own[1], other[1] = 3, i
        a = own if i < 40 else other
        b = own if i > 40 else other
        out[i] = 100 * a[1] + b[1]
    """
    assert result(text).tolist() == [300 + i for i in range(32)]
