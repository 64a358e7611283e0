"""Findings as kinds and facts: what each says in English and in other languages, and what comes back from a file."""

from dataclasses import replace

from helpers.pseudo import forgotten, pseudo
from helpers.strategies import a_recording

import smemviz
from smemviz.messages import say
from smemviz.recordings.findings import KINDS, Finding

FIRST = {"did": "store", "thread": (3, 0, 0), "line": 5}
RACE = {"element": "tile[3]", "first": FIRST, "second": {"did": "load", "thread": (40, 0, 0), "line": 9}}
AT_ONE_LINE = {"element": "tile[3]", "first": FIRST, "second": {**FIRST, "thread": (4, 0, 0)}}
OF_BLOCKS = {
    "element": "out[0]",
    "first": {**FIRST, "did": "update", "block": (0, 0, 0)},
    "second": {"did": "load", "thread": (0, 0, 0), "block": (1, 0, 0), "line": 6},
}
STORED, LOADED = "stored by thread (3, 0, 0) at line 5", "loaded by thread (40, 0, 0) at line 9"
INDEX = {"array": "a", "index": "8", "shape": (8,), "space": "global"}
SKIPPED = {"code": "cuda.syncthreads()", "present": 16, "missing": 48}
EXCEPTION = {"what": "KeyError: 'n'"}  # says the same in every language
SAMPLES = [  # kind, facts, what is wrong, and what mends it
    (
        "missing_proxy_fence",
        {"array": "tile", "reader": "wgmma"},
        "wgmma reads tile, in which threads have stored with no proxy fence since: it may read what was there before",
        "Put fence.proxy.async after the stores, before the barrier that says they are done.",
    ),
    (
        "early_overwrite",
        {"array": "tile", "writer": "cp.async.bulk", "reader": "", "unfinished": True},
        "cp.async.bulk overwrites tile, and nothing has waited for the copy into it before",
        "Wait for that copy's mbarrier first, read what it brought, and then overwrite it.",
    ),
    (
        "early_overwrite",
        {"array": "tile", "writer": "cp.async.bulk", "reader": "threads", "unfinished": False},
        "cp.async.bulk overwrites tile before anything says that threads read it",
        "Put a barrier between, or let the readers arrive at an mbarrier and wait for that here.",
    ),
    (
        "early_overwrite",
        {"array": "tile", "writer": "threads", "reader": "wgmma", "unfinished": True},
        "a store of threads overwrites tile, which wgmma may read until it is waited for",
        "Put wgmma.wait_group before, in the threads that began it.",
    ),
    (
        "early_read",
        {"array": "tile", "reader": "wgmma"},
        "tile is read by wgmma, and nothing has waited for the copy into it: it may not be there yet",
        "Wait first for the mbarrier that the copy completes.",
    ),
    (
        "race",
        {**RACE, "between": "warps", "remedy": "barrier", "barrier": "cuda.syncthreads()"},
        f"tile[3] is {STORED} and {LOADED} with no barrier between",
        "Put cuda.syncthreads() between them.",
    ),
    (
        "race",
        {**RACE, "between": "lanes", "word": "syncwarp", "remedy": "loop", "barrier": "cuda.syncwarp()", "line": 4},
        f"tile[3] is {STORED} and {LOADED}, both of one warp, with no syncwarp between",
        "Put cuda.syncwarp() at the end of the loop of line 4.",
    ),
    (
        "race",
        {**AT_ONE_LINE, "between": "lanes at once", "remedy": "atomic", "atomic": "cuda.atomic"},
        "tile[3] is stored by threads (3, 0, 0) and (4, 0, 0) at line 5 in one request with different values",
        "Let one thread do it, or use cuda.atomic.",
    ),
    (
        "race",
        {**OF_BLOCKS, "between": "blocks", "remedy": "launches", "fence": "cuda.threadfence()"},
        "out[0] is updated by thread (3, 0, 0) of block (0, 0, 0) at line 5 and loaded by thread (0, 0, 0) of block "
        "(1, 0, 0) at line 6; nothing orders the blocks of a launch",
        "Make it two launches, or order them with cuda.threadfence() and an atomic.",
    ),
    (
        "race",
        {**RACE, "between": "load and store", "remedy": "update", "atomic": "cuda.atomic.add(tile, 3, 1)"},
        f"tile[3] is {STORED} and {LOADED}, and one of the two results is lost",
        "Use cuda.atomic.add(tile, 3, 1).",
    ),
    (
        "benign_race",
        AT_ONE_LINE,
        "tile[3] is stored by threads (3, 0, 0) and (4, 0, 0) at line 5, the same value: it does no harm that nothing "
        "orders them.",
        "",
    ),
    ("out_of_bounds", INDEX, "a[8] is outside shape (8,)", "Check the index with an if before it is used."),
    (
        "out_of_bounds",
        {**INDEX, "shape": (0,), "space": "shared"},
        "a[8] is outside shape (0,)",
        "Give its bytes in the launch: kernel[grid, block, stream, bytes].",
    ),
    (
        "out_of_bounds",
        {"array": "a", "index": 1024, "elements": 1024},
        "a[1024] is outside the 1,024 elements of a",
        "Check the index with an if before it is used.",
    ),
    ("out_of_bounds", {"address": "0x10"}, "address 0x10 is in no array of the launch", ""),
    (
        "negative_index",
        {"array": "a", "index": "-1", "element": "7"},
        "a[-1] is a[7]: Python counts a negative index from the end, C++ does not",
        "If the end is not meant, check the index with an if.",
    ),
    (
        "kept",
        {"name": "best"},
        "best has changed since Numba compiled the kernel, which keeps what it was then",
        "Pass it as an argument, or define the kernel anew.",
    ),
    (
        "unwritten_read",
        {"element": "s[1]", "array": "s", "updated": False, "written": 0, "elements": 8, "threads": 4},
        "s[1] is read, but nothing wrote it: shared memory does not start as zeros",
        "Store in s first.",
    ),
    (
        "unwritten_read",
        {"element": "s[5]", "array": "s", "updated": True, "written": 4, "elements": 8, "threads": 4},
        "s[5] is updated, but nothing wrote it: the block has 4 threads and s 8 elements",
        "Start one thread for each element, or let each thread store several.",
    ),
    (
        "unwritten_read",
        {"element": "s[5]", "array": "s", "updated": False, "written": 5, "elements": 8, "threads": 4},
        "s[5] is read, but nothing wrote it: 5 of the 8 elements of s are written",
        "Store in the others first.",
    ),
    (
        "unassigned_read",
        {"name": "best"},
        "best is read by threads that have not assigned it on their path: on a GPU it may hold anything",
        "Assign it on every path.",
    ),
    (
        "unassigned_read",
        {"name": "best", "made_of": "s"},
        "best is computed from s, which some threads have not assigned on their path: on a GPU it may hold anything",
        "Assign s on every path.",
    ),
    (
        "barrier_divergence",
        SKIPPED,
        "cuda.syncthreads() is reached by 16 threads of a block while 48 are elsewhere",
        "Move it to a place that every thread of the block reaches.",
    ),
    (
        "barrier_divergence",
        {"function": "cuda.shfl_sync", "lanes": 32, "mask": "0xffffffff", "missing": 16},
        "cuda.shfl_sync waits for the 32 lanes of mask 0xffffffff, of which 16 are elsewhere",
        "",
    ),
    (
        "barrier_skipped",
        SKIPPED,
        "cuda.syncthreads() is reached by 16 threads of a block; the other 48 have nothing left to do, so a device "
        "goes on without them, as after a return.",
        "",
    ),
    (
        "split_barrier",
        {"code": "go()"},
        "go() is reached by continue in some threads of a warp, by the end of the loop in others: Python compiles a "
        "condition twice, so they wait at two barriers, and a GPU may hang",
        "Write while True, begin its body with the barrier, and leave it with break.",
    ),
    (
        "deadlock",
        {},
        "waits in a loop for something that no thread does; check what it waits for, and which thread stores that",
        "",
    ),
    (
        "misaligned",
        {"address": 4, "width": 16},
        "address 4 is not a multiple of 16, the width of the access; a device stops the kernel here",
        "Align the array, or load fewer bytes at once.",
    ),
    ("assertion", {"what": "assert(i < n)"}, "assert(i < n) fails; a device stops the kernel here", ""),
    ("trap", {}, "the kernel traps; a device stops it here", ""),
    ("raised", {"threads": 1, "code": "raise ValueError"}, "1 thread ends here: raise ValueError", ""),
    ("raised", {"threads": 5, "code": "raise ValueError"}, "5 threads end here: raise ValueError", ""),
    ("launch_refused", EXCEPTION, "KeyError: 'n'", ""),
    (
        "launch_refused",
        {"what": "KeyError: 'n'.", "missing": "all after it"},
        "KeyError: 'n'. This launch and all after it are missing.",
        "",
    ),
    (
        "launch_refused",
        {"what": "KeyError: 'n'.", "missing": "its cell"},
        "KeyError: 'n'. This launch and the rest of its cell are missing, and what it would have stored.",
        "",
    ),
    (
        "launch_refused",
        {"what": "KeyError: 'n'.", "missing": "its recording"},
        "KeyError: 'n'. It ran and is not recorded.",
        "",
    ),
    ("main_failed", {"what": "KeyError: 'n'", "is_sentence": False}, "main() ended with KeyError: 'n'", ""),
    ("main_failed", {"what": "KeyError: 'n'", "is_sentence": True}, "main() ended here: KeyError: 'n'", ""),
    ("main_failed", {}, "stopped here; the launches after it are missing", ""),
]
DATA = [
    "cp.async.bulk",
    "wgmma",
    "a",
    "s",
    "best",
    "go()",
    "tile",
    "out",
    "cuda",
    "KeyError: 'n'",
    "raise ValueError",
    "assert(i < n)",
]
CODE = [
    "wgmma.wait_group",
    "cuda.syncthreads()",
    "cuda.syncwarp()",
    "cuda.threadfence()",
    "cuda.atomic",
    "cuda.shfl_sync",
    "0xffffffff",
]
CODE += ["cuda.atomic.add(tile, 3, 1)", "syncwarp", "0x10", "KeyError: 'n'."]


def one(kind, facts):
    return Finding.of(kind, "kernel", 7, facts, threads=((1, 0, 0),), launch=0)


def test_there_is_a_sample_of_every_kind():
    assert {kind for kind, *_ in SAMPLES} == set(KINDS)


def test_a_finding_says_what_is_wrong_and_what_mends_it():
    for kind, facts, reason, remedy in SAMPLES:
        finding = one(kind, facts)

        assert finding.message == (f"{reason}. {remedy}" if remedy else reason)
        assert finding.parts == (reason, remedy)


def test_it_says_so_in_every_language():
    for kind, facts in [(kind, facts) for kind, facts, *_ in SAMPLES if facts != EXCEPTION]:
        with pseudo():
            said = say(one(kind, facts).message)
            assert said is not None
            assert forgotten([said], [*DATA, *CODE]) == []


def test_for_what_a_launch_is_not_made_and_what_fails_nothing():
    found = [one(kind, facts) for kind, facts, *_ in SAMPLES]

    unsafe = {"out_of_bounds", "barrier_divergence", "deadlock", "misaligned", "assertion", "trap"}
    assert {finding.kind for finding in found if finding.is_unsafe} == unsafe
    harmless = {"benign_race", "barrier_skipped", "negative_index", "kept"}
    assert {finding.kind for finding in found if finding.harmless} == harmless


def test_a_launch_that_was_not_made_is_said_behind_the_mistake():
    finding = one("out_of_bounds", INDEX).with_facts(not_run=True)

    assert finding.message == (
        "a[8] is outside shape (8,). Check the index with an if before it is used. It was not run on the GPU."
    )
    assert finding.parts == ("a[8] is outside shape (8,)", "Check the index with an if before it is used.")


def saved(recording, folder):
    recording.save(folder / "a.smem.npz")
    return smemviz.load(folder / "a.smem.npz")


def test_facts_come_back_from_a_file_and_say_the_same_in_every_language(tmp_path):
    recording = a_recording()
    found = tuple(replace(one(kind, facts), launch=None) for kind, facts, *_ in SAMPLES)

    back = saved(replace(recording, findings=found), tmp_path).findings

    assert back == found
    with pseudo():
        assert [say(finding.message) for finding in back] == [say(finding.message) for finding in found]


def test_a_finding_without_facts_says_what_is_in_its_file(tmp_path):
    old = Finding("race", "kernel", 7, (0, 0, 0), (), "a[3] is raced for. Do not.")

    (back,) = saved(replace(a_recording(), findings=(old,)), tmp_path).findings

    assert back == old
    assert back.parts == ("a[3] is raced for. Do not.", "")
    with pseudo():
        assert say(back.message) is None


def test_facts_of_another_version_leave_the_text_that_is_in_the_file(tmp_path):
    for kind, facts in [
        ("out_of_bounds", INDEX),  # of which this version says something else
        ("out_of_bounds", {"array": "a"}),
        ("out_of_bounds", {"elements": "many", "array": "a", "index": 3}),
        ("race", {"element": 3, "first": (), "second": None}),
        ("of_another_version", {"x": (1, {"y": None})}),
    ]:
        other = Finding(kind, "kernel", 7, (0, 0, 0), (), "What another version said of it.", None, facts)

        (back,) = saved(replace(a_recording(), findings=(other,)), tmp_path).findings

        assert back == other
        assert not back.harmless
        assert back.parts == ("What another version said of it.", "")
