"""The requests of conditions: lanes that come to an operand by several ways make one request of it, with all of them.

Of 32 threads ``a[i]`` is ``i``, ``b[i]`` is ``31 - i``, and ``t`` is a copy of ``a`` in shared memory.
"""

import numpy as np
from helpers.lockstep_text import body

N = np.arange(32)
START = "i = cuda.threadIdx.x\nt = cuda.shared.array(32, int32)\nt[i] = a[i]\ncuda.syncthreads()\n"
ODD, EVEN = set(range(1, 32, 2)), set(range(0, 32, 2))
ALL = ODD | EVEN
LOW, HIGH = set(range(16)), set(range(16, 32))


def requests(text, before=""):
    """Return each request of a body after its start: what the site is, and which lanes make it."""
    arrays = np.zeros(32, np.int32), N.astype(np.int32), (31 - N).astype(np.int32)
    launch, findings = body(START + text, *arrays, parameters="out, a, b", before=before)
    assert findings == ()
    made = zip(launch.requests.site, launch.requests.addresses, strict=True)
    return [(launch.sites[site].source, set(np.flatnonzero(at >= 0).tolist())) for site, at in made][2:]


def test_an_operand_is_one_request_of_the_lanes_that_come_to_it():
    for condition, expected in [
        ("i % 2 and a[i] > 3", [("a[i]", ODD)]),
        ("a[i] % 2 or b[i] > 3", [("a[i]", ALL), ("b[i]", EVEN)]),
        ("not (a[i] % 2 or b[i] > 3)", [("a[i]", ALL), ("b[i]", EVEN)]),
        ("(i % 2 and a[i] > 3) or t[i] > 20", [("a[i]", ODD), ("t[i]", EVEN | {1, 3})]),
        ("(i % 2 or a[i] > 3) and t[i] > 20", [("a[i]", EVEN), ("t[i]", ALL - {0, 2})]),
        (
            "(i < 16 and a[i] > 3) or (i % 2 and b[i] > 3) or t[i] == 5",
            [("a[i]", LOW), ("b[i]", (HIGH | {0, 1, 2, 3}) & ODD), ("t[i]", (HIGH & EVEN) | {0, 2, 29, 31})],
        ),
        (
            "not (i % 2 and a[i] > 3) and not (i < 16 and b[i] > 20) and t[i] > 0",
            [("a[i]", ODD), ("b[i]", LOW & EVEN | {1, 3}), ("t[i]", (HIGH & EVEN) | {12, 14})],
        ),
        (
            "4 < a[i] < t[31 - i] < b[i] + 1",
            [("a[i]", ALL), ("t[31 - i]", set(range(5, 32))), ("b[i]", set(range(5, 16)))],
        ),
        ("a[i] > 3 if i % 2 else b[i] > 3", [("a[i]", ODD), ("b[i]", EVEN)]),
        (
            "a[i] > 3 if (i % 2 and b[i] > 3) or i == 4 else t[i] > 3",
            [("b[i]", ODD), ("a[i]", ODD - {29, 31} | {4}), ("t[i]", EVEN - {4} | {29, 31})],
        ),
        (
            "(a[i] if i < 16 else b[i]) < 8 and t[i] % 2",
            [("a[i]", LOW), ("b[i]", HIGH), ("t[i]", {*range(8), *range(24, 32)})],
        ),
    ]:
        for use in ["if {}: out[i] = 1", "ok = {}\nif ok: out[i] = 1", "if {}: pass\nout[i] = 1"]:
            made = requests(use.format(condition))

            assert made[:-1] == expected
            assert made[-1][0] == "out[i]"


def test_each_side_of_a_branch_is_one_request_by_whatever_operand_it_was_decided():
    made = requests("if (i % 2 and a[i] > 3) or t[i] > 20: out[i] = 1\nelse: out[i] = b[i]")

    then = ODD - {1, 3} | {22, 24, 26, 28, 30}
    assert made[2:] == [("out[i]", then), ("b[i]", ALL - then), ("out[i]", ALL - then)]


def test_the_condition_of_a_loop_is_one_request_a_round():
    made = requests("n = 0\nwhile n < 2 and (i % 2 and a[i] > 3 or t[i] > 20):\n    n += 1\nout[i] = n")

    first, again = [("a[i]", ODD), ("t[i]", EVEN | {1, 3})], ODD - {1, 3}
    second = [("a[i]", again), ("t[i]", {22, 24, 26, 28, 30})]
    assert made == [*first, *second, ("out[i]", ALL)]


def test_lanes_that_leave_a_loop_for_its_else_wait_there_for_each_other():
    text = "for n in range(a[i] % 3):\n    if t[i] > 20 or b[i] == n + 20: break\nelse: out[i] = 1\nb[i] = 2"

    made = requests(text)
    assert [one for one in made if one[0] == "out[i]"] == [("out[i]", set(range(21)) - {11} | {21, 24, 27, 30})]
    assert made[-1] == ("b[i]", ALL)


def test_a_condition_among_arguments_is_one_request_before_the_function_begins():
    function = "@cuda.jit(device=True)\ndef pick(first, array, at):\n    return array[at] if first else 0\n"

    made = requests("out[i] = pick((i % 2 and a[i] > 3) or t[i] > 20, b, i)", before=function)
    assert made == [
        ("a[i]", ODD), ("t[i]", EVEN | {1, 3}), ("array[at]", ODD - {1, 3} | {22, 24, 26, 28, 30}), ("out[i]", ALL),
    ]  # fmt: skip


def test_lanes_that_go_on_with_the_next_round_make_its_first_request_together():
    text = "for n in range(2):\n    if (i % 2 and a[i] > 3) or t[i] > 20: continue\n    out[i] = b[i]\n"

    rest = EVEN - {22, 24, 26, 28, 30} | {1, 3}
    once = [("a[i]", ODD), ("t[i]", EVEN | {1, 3}), ("b[i]", rest), ("out[i]", rest)]
    assert requests(text) == once * 2
