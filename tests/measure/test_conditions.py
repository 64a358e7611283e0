"""What compilers make of conditions, explained: lanes that stay apart, and one instruction for the sides of a choice.

Of 32 threads ``a[i]`` and ``m[i, 1]`` are ``i``; counts are worked out by hand.
"""

import smemviz
from smemviz.measure.ncu.counters import ProfiledLaunch
from smemviz.measure.ncu.reconcile import reconcile
from smemviz.measure.ncu.sass import Instruction

HEAD = """import numpy as np
from numba import cuda

@cuda.jit
def k(out, a, m):
    i = cuda.threadIdx.x
"""
TAIL = """
def main():
    m = np.zeros((32, 2), np.int32)
    m[:, 1] = np.arange(32)
    k[1, 32](np.zeros(32, np.int32), np.arange(32, dtype=np.int32), m)
"""
FIRST = HEAD.count("\n") + 1


def verdicts(folder, body, *counted, sound=True):
    """Return source, verdict and reason of each site.

    Instructions are given as line of the body, name, requests, lanes and sectors.
    """
    path = folder / "k.py"
    path.write_text(HEAD + body + TAIL, encoding="utf-8")
    recording = smemviz.run(path, engine="lockstep")
    instructions = tuple(
        Instruction(
            path.as_posix(),
            FIRST + line,
            f"{name} [R{number}]",
            name,
            "global",
            "load" if name == "LDG" else "store",
            4,
            requests,
            lanes,
            0,
            0,
            sectors,
        )
        for number, (line, name, requests, lanes, sectors) in enumerate(counted)
    )
    (launch,) = recording.launches
    found = reconcile(launch, ProfiledLaunch("k", instructions, {}), recording.source, recording.file, (9, 0))
    assert (found.sound, found.unaccounted == ()) == (sound, sound)
    pairs = zip(launch.sites, found.hardware, strict=True)
    return [(site.source, row.verdict, row.because) for site, row in pairs]


CONDITION = """    if (i % 2 and a[i] > 3) or m[i, 1] > 20:
        out[i] = 1
    else:
        out[i] = m[i, 0]
"""
APART = "lanes come to it by different ways, as operands of a condition lead, and do not wait there for each other: "


def test_lanes_that_meet_at_an_operand_agree(tmp_path):
    counted = [(0, "LDG", 1, 16, 4), (0, "LDG", 1, 18, 8), (1, "STG", 1, 19, 4), (3, "LDG", 1, 13, 6)]
    found = verdicts(tmp_path, CONDITION, *counted, (3, "STG", 1, 13, 3))

    assert [verdict for _, verdict, _ in found] == ["agrees"] * 5


def test_lanes_that_come_to_an_operand_apart_are_told_by_what_they_accessed_before(tmp_path):
    """Threads 1 and 3 come to it from the first load, threads of even numbers past it."""
    counted = [(0, "LDG", 1, 16, 4), (0, "LDG", 2, 18, 9), (1, "STG", 1, 19, 4), (3, "LDG", 2, 13, 7)]
    found = verdicts(tmp_path, CONDITION, *counted, (3, "STG", 2, 13, 4))

    assert found[1:] == [
        ("m[i, 1]", "explained", f"{APART}1 -> 2 requests, 9 sectors, by 1 LDG"),
        ("out[i]", "agrees", "1 request and 4 sectors, as recorded"),
        ("m[i, 0]", "explained", f"{APART}1 -> 2 requests, 7 sectors, by 1 LDG"),
        ("out[i]", "explained", f"{APART}1 -> 2 requests, 4 sectors, by 1 STG"),
    ]


def test_lanes_that_no_access_tells_apart_stay_unexplained(tmp_path):
    """Two requests could be any two groups of the lanes: there is no equation that says what they cost."""
    body = "    if i % 2 or i * i % 5 == 1:\n        out[i] = m[i, 1]\n"  # 16 odd ones, and 4, 6, 14, 16, 24, 26

    found = verdicts(tmp_path, body, (1, "LDG", 2, 22, 12), (1, "STG", 2, 22, 8), sound=False)
    assert [verdict for _, verdict, _ in found] == ["unexplained"] * 2


def test_one_load_of_the_sides_of_a_choice(tmp_path):
    body = "    out[i] = a[i ^ 1] if a[i] > 20 else a[31 - i]\n"

    found = verdicts(tmp_path, body, (0, "LDG", 1, 32, 4), (0, "LDG", 1, 32, 3), (0, "STG", 1, 32, 4))
    said = "1 LDG made a[i ^ 1], a[31 - i] together, of each lane the one that its condition chose: "
    assert sorted(found) == [
        ("a[31 - i]", "explained", f"{said}2 -> 1 request, 3 sectors"),
        ("a[i ^ 1]", "explained", f"{said}2 -> 1 request, 3 sectors"),
        ("a[i]", "agrees", "1 request and 4 sectors, as recorded"),
        ("out[i]", "agrees", "1 request and 4 sectors, as recorded"),
    ]
