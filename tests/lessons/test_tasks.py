"""Kernels to fix: what they begin with fails and shows why, and solutions of several kinds pass."""

import pytest

from smemviz.engines.sandbox.run import run_text
from smemviz.errors import InputError
from smemviz.lessons.course import LESSONS, TASKS, task_of
from smemviz.testing.budget import what_is_missing

BARRIER = ("    total = int32(0)\n", "    cuda.syncthreads()\n    total = int32(0)\n")

# By task and kind of solution, what is written instead of what.
SOLUTIONS: dict[tuple[str, str], list[tuple[str, str]]] = {
    ("race", "a barrier"): [BARRIER],
    ("race", "a halo for each warp"): [
        ("HELD = THREADS + 2 * RADIUS", "WARPS = THREADS // 32\nHELD = 32 + 2 * RADIUS"),
        ("array(HELD, int32)", "array((WARPS, HELD), int32)"),
        (
            "    held[t] = values[first + t]\n    if t < 2 * RADIUS:\n"
            "        held[THREADS + t] = values[first + THREADS + t]\n",
            "    warp, lane = t // 32, t % 32\n    held[warp, lane] = values[first + t]\n    if lane < 2 * RADIUS:\n"
            "        held[warp, 32 + lane] = values[first + t + 32]\n    cuda.syncwarp()\n",
        ),
        ("held[t + k]", "held[warp, lane + k]"),
    ],
    ("padding", "a pad"): [("PITCH = TILE", "PITCH = TILE + 1")],
    ("padding", "a swizzle"): [("tile[ty, tx]", "tile[ty, tx ^ ty]"), ("tile[tx, ty]", "tile[tx, ty ^ tx]")],
    ("padding", "turned rows"): [
        ("tile[ty, tx]", "tile[ty, (tx + ty) % TILE]"),
        ("tile[tx, ty]", "tile[tx, (ty + tx) % TILE]"),
    ],
    ("rectangles", "a pad of two"): [("PITCH = COLUMNS + 1", "PITCH = COLUMNS + 2")],
    ("rectangles", "a swizzle"): [
        ("PITCH = COLUMNS + 1", "PITCH = COLUMNS"),
        ("tile[ty, tx]", "tile[ty, tx ^ (2 * ty)]"),
        ("tile[row, column]", "tile[row, column ^ (2 * row)]"),
    ],
    ("swizzle", "a swizzle"): [("tile[row, tx]", "tile[row, tx ^ row]"), ("tile[tx, row]", "tile[tx, row ^ tx]")],
    ("swizzle", "turned rows"): [
        ("tile[row, tx]", "tile[row, (tx + row) % TILE]"),
        ("tile[tx, row]", "tile[tx, (row + tx) % TILE]"),
    ],
    ("reduction", "halves"): [
        ("    step = 1\n    while step < THREADS:", "    step = THREADS // 2\n    while step > 0:"),
        ("        i = 2 * step * t\n        if i < THREADS:\n            held[i] += held[i + step]",
         "        if t < step:\n            held[t] += held[t + step]"),
        ("step *= 2", "step //= 2"),
    ],
    ("reduction", "spread threads"): [
        ("        i = 2 * step * t\n        if i < THREADS:\n            held[i] += held[i + step]",
         "        if t % (2 * step) == 0:\n            held[t] += held[t + step]"),
    ],
}  # fmt: skip


def missing(task, source):
    return what_is_missing(task, run_text(source).recording)


def written(task, changes):
    text = task.source
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def test_a_task_follows_a_lesson_and_has_two_kinds_of_solutions():
    assert [[lesson.slug for lesson in LESSONS].index(task.slug) + 1 for task in TASKS] == [7, 8, 10, 14, 15]
    for task in TASKS:
        assert len([name for name, _kind in SOLUTIONS if name == task.slug]) >= 2


def test_solutions_of_several_kinds_pass():
    for slug, kind in SOLUTIONS:
        task = task_of(slug)
        assert missing(task, written(task, SOLUTIONS[slug, kind])) is None


def test_what_a_task_begins_with_fails_with_its_witness():
    for slug, said in [
        ("race", "race in stencil, block (0, 0, 0), threads (32, 0, 0), (31, 0, 0): held[32] is stored"),
        ("padding", "load of tile[tx, ty] in transpose is 32-way; at most 1-way is allowed"),
        ("rectangles", "load of tile[row, column] in turn takes 16 wavefronts in excess; at most 0 are allowed"),
        ("swizzle", "load of tile[tx, row] in transpose is 32-way; at most 1-way is allowed"),
        ("reduction", "in add_up is 8-way; at most 1-way is allowed"),
    ]:
        task = task_of(slug)
        witness = missing(task, task.source)
        assert witness is not None
        assert said in witness


def test_what_only_seems_to_be_a_solution_is_none():
    for slug, changes, said in [
        (
            "swizzle",
            [("DEEP = 8", "DEEP = 8\nPITCH = TILE + 1"), ("array((TILE, TILE)", "array((TILE, PITCH)")],
            "transpose takes 4,224 bytes of shared memory; at most 4,096 are allowed",
        ),
        ("padding", [("tile[tx, ty]", "tile[ty, tx]")], "transpose gave something else"),  # no conflict, no transpose
        ("padding", [("TILE = 32\n", "TILE = 8\n")], "TILE is not as it was"),
        ("padding", [("assert np.array_equal(out.copy_to_host(), matrix.T),", "assert True,")], "main() is not as"),
        ("rectangles", [("PITCH = COLUMNS + 1", "PITCH = COLUMNS + 3")], "in turn"),
        (
            "race",
            [
                ("    held = cuda.shared.array(HELD, int32)\n", ""),
                (
                    "    held[t] = values[first + t]\n    if t < 2 * RADIUS:\n"
                    "        held[THREADS + t] = values[first + THREADS + t]\n",
                    "",
                ),
                ("held[t + k]", "values[first + t + k]"),
            ],
            "no recorded launch has an access to shared memory",
        ),
    ]:
        task = task_of(slug)
        found = missing(task, written(task, changes))
        assert found is not None
        assert said in found


def test_a_task_that_is_not_there_is_told_in_one_line():
    with pytest.raises(InputError, match="no kernel to fix is called 'banks'; there are padding, rectangles, swizzle"):
        task_of("banks")
