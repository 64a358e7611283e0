"""What ``smemviz diff`` prints, and how it exits."""

from dataclasses import replace

import pytest
from helpers.made_kernels import TURN
from helpers.revisions import commit
from helpers.strategies import a_recording

import smemviz
from smemviz.frontends.reading import read_revision
from smemviz.languages import CUDA_CPP

MARKDOWN = """\
**Worse in B: turn in wavefronts.**

A: `turn.py`, B: `turn.py (PITCH=32)`; counted for compute capability 9.0.

| launch | requests | wavefronts | excess | degree | sectors | time |
| --- | --- | --- | --- | --- | --- | --- |
| `turn` | 128 | 64 → 1,056 | 0 → 992 | 1 → 32 | 256 | not measured |

`turn`, by line:

| line | access | operation | requests | wavefronts | excess | degree | sectors |
| --- | --- | --- | --- | --- | --- | --- | --- |
| 13 | `tile[x, y]` | shared load | 32 | 32 → 1,024 | 0 → 992 | 1 → 32 | - |
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Stand in a folder with a kernel file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turn.py").write_text(TURN)
    return tmp_path


@pytest.fixture
def diff(command):
    """Give what runs ``smemviz diff`` in lockstep."""
    return lambda *arguments, code=0: command("diff", *arguments, "--engine", "lockstep", code=code)


@pytest.fixture
def repository(here):
    """Commit the kernel file, then one with the pad taken away and a line put before it."""
    commit(here / "turn.py")
    (here / "turn.py").write_text("# Without a pad.\n" + TURN.replace("PITCH = 33", "PITCH = 32"))
    return here


def test_markdown_tells_totals_and_the_lines_that_changed(here, diff):
    assert diff("turn.py", "--set-b", "PITCH=32", "--markdown", code=1).out == MARKDOWN


def test_a_table_says_the_same(here, diff):
    out = diff("turn.py", "turn.py", "--set-b", "PITCH=32", code=1).out
    assert out.startswith("A: turn.py\nB: turn.py (PITCH=32)\ncounted for compute capability 9.0\n")
    assert "│ turn   │      128 │ 64 → 1,056 │ 0 → 992 │ 1 → 32 │     256 │ not measured │" in out
    assert "│   13 │ tile[x, y] │ shared load │       32 │ 32 → 1,024 │ 0 → 992 │ 1 → 32 │       - │" in out
    assert out.endswith("\nWorse in B: turn in wavefronts.\n")


def test_json_holds_every_site_of_both(here, diff):
    data = diff("turn.py", "--set-b", "PITCH=32", "--json", code=1).json
    assert (data["schema"], data["cc"], data["tolerance_percent"], data["worse"]) == (1, [9, 0], 0.0, True)
    assert (data["a"]["constants"], data["b"]["constants"]) == ({"PITCH": 33}, {"PITCH": 32})
    (launch,) = data["launches"]
    assert launch["worse"] == ["wavefronts"]
    assert (launch["a"]["wavefronts"], launch["b"]["wavefronts"]) == (64, 1056)
    load = launch["sites"][2]
    assert (load["array"], load["space"], load["op"]) == ("tile", "shared", "load")
    assert [(load[side]["line"], load[side]["max_degree"]) for side in "ab"] == [(13, 1), (13, 32)]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--set-a", "PITCH=32"), 0, "No launch is worse in B."),
        (("--set-b", "PITCH=34"), 1, "Worse in B: turn in wavefronts."),  # 2-way: 96 wavefronts, 50 % more
        (("--set-b", "PITCH=34", "--tolerance", "50"), 0, "No launch is worse in B by more than 50 %."),
        (("--set-b", "PITCH=34", "--tolerance", "49.9%"), 1, "Worse in B by more than 49.9 %: turn in wavefronts."),
        (("--set", "PITCH=32", "--set-b", "PITCH=34"), 0, "No launch is worse in B."),
    ],
)
def test_it_fails_when_b_costs_more_than_the_tolerance(here, arguments, code, said, diff):
    assert diff("turn.py", *arguments, code=code).out.splitlines()[-1] == said


def test_a_revision_is_named_as_git_names_it(repository, monkeypatch, diff):
    data = diff("HEAD:turn.py", "turn.py", "--json", code=1).json
    assert [data[side]["name"] for side in "ab"] == ["HEAD:turn.py", "turn.py"]
    assert [data[side]["constants"]["PITCH"] for side in "ab"] == [33, 32]
    load = data["launches"][0]["sites"][2]
    assert [(load[side]["line"], load[side]["max_degree"]) for side in "ab"] == [(13, 1), (14, 32)]
    diff("-x:turn.py", "turn.py", code=2)  # an option to git is one to us
    (repository / "below").mkdir()
    monkeypatch.chdir(repository / "below")
    diff("HEAD:turn.py", "../turn.py", code=1)
    diff("HEAD:../turn.py", "../turn.py", "--set-b", "PITCH=33")


def test_a_revision_is_read_in_the_language_of_its_file(repository):
    commit_text = "__global__ void k(float *a) { a[threadIdx.x] = 1; }\n"
    (repository / "k.cu").write_text(commit_text)
    commit(repository / "k.cu")
    program = read_revision("HEAD:k.cu")
    assert (program.language, list(program.kernels), program.source) == (CUDA_CPP, ["k"], commit_text)


def test_recordings_are_compared_as_they_are(here, diff):
    smemviz.run("turn.py", engine="lockstep").save("padded.smem.npz")
    smemviz.run("turn.py", {"PITCH": 32}, engine="lockstep").save("plain.smem.npz")
    diff("padded.smem.npz", "plain.smem.npz", code=1)
    diff("plain.smem.npz", "padded.smem.npz")
    diff("padded.smem.npz", "turn.py")
    out = diff("padded.smem.npz", "plain.smem.npz", "--cc", "3.5", code=1).out
    assert "counted for compute capability 3.5\n" in out
    assert diff("padded.smem.npz", "plain.smem.npz", "--cc", "3.5-8", "--json", code=1).json["bank_bytes"] == 8


def test_what_main_prints_stays_out_of_markdown_and_json(here, diff):
    (here / "turn.py").write_text(TURN + "    print('done')\n")
    written = diff("turn.py", "--set-b", "PITCH=32", "--markdown", code=1)
    assert (written.out, written.err) == (MARKDOWN, "done\ndone\n")


def test_counts_that_do_not_cover_all_requests_say_so(here, diff):
    smemviz.run("turn.py", engine="lockstep").save("all.smem.npz")
    smemviz.run("turn.py", engine="lockstep", log_bytes=0).save("few.smem.npz")
    assert "counts cover only" not in diff("all.smem.npz", "few.smem.npz").out  # exact totals, whatever was logged
    out = diff("all.smem.npz", "few.smem.npz", "--cc", "3.5").out
    assert "turn: counts cover only the requests that were logged\n" in out
    assert diff("all.smem.npz", "few.smem.npz", "--cc", "3.5", "--json").json["launches"][0]["complete"] is False


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("turn.py",), "turn.py: A and B are the same; name two, or give --set-a or --set-b"),
        (("turn.py", "nowhere.py"), "nowhere.py: no such file"),
        (("HEAD:turn.py", "turn.py"), "HEAD:turn.py: git does not have it: "),
        ((":turn.py", "turn.py"), ":turn.py: no such file; write FILE, or REVISION:FILE such as HEAD~1:turn.py"),
        (("turn.py", "--set-b", "ROWS=1"), "turn.py:1: there is no constant ROWS; the file has: PITCH"),
        (("made_up.smem.npz", "turn.py"), "made_up.smem.npz and turn.py: no kernel is launched in both; "),
        (("made_up.smem.npz", "--set-b", "PITCH=1"), "made_up.smem.npz: is a recording; constants are set for "),
    ],
)
def test_a_mistake_is_one_line(here, arguments, said, diff):
    launches = a_recording().launches * 2  # one launch of each would be a pair
    replace(a_recording(), launches=launches, findings=()).save(here / "made_up.smem.npz")
    written = diff(*arguments, code=2)
    assert written.err.startswith(f"smemviz: {said}")
    assert (written.out, written.err.count("\n")) == ("", 1)


def test_a_percentage_is_a_number_from_0_on(here, diff):
    for text in ("-1", "nan", "inf", "much"):
        said = diff("turn.py", "--set-b", "PITCH=32", f"--tolerance={text}", code=2).err
        assert f"{text!r} is no percentage, a number from 0 on" in said


def test_launches_that_say_the_same_are_said_once(here, diff):
    (here / "turn.py").write_text(TURN.replace("    turn[1", "    for _ in range(9):\n        turn[1"))
    said = diff("turn.py", "--set-b", "PITCH=32", "--markdown", code=1).out
    assert said == MARKDOWN.replace("Worse in B: turn", "Worse in B: turn (9 identical launches)").replace(
        "`turn`", "`turn (9 identical launches)`"
    )
    found = diff("turn.py", "--set-b", "PITCH=32", "--json", code=1).json
    assert [one["number"] for one in found["launches"]] == list(range(9))


def test_a_mistake_that_only_b_makes_is_told_and_exits_1(here, diff):
    (here / "raced.py").write_text(TURN.replace("    cuda.syncthreads()\n", ""))
    found = diff("turn.py", "raced.py", "--json", code=1).json
    assert (found["worse"], found["launches"][0]["worse"]) == (True, [])
    assert [(one["kind"], one["line"]) for one in found["findings"]] == [("race", 12)]
    assert set(found["findings"][0]) == {"kind", "kernel", "line", "block", "threads", "message", "launch"}
    told = diff("turn.py", "raced.py", code=1).out.splitlines()[-3:]
    assert told[0].startswith("Found in B and not in A: raced.py:12: race in turn, block (0, 0, 0), threads ")
    assert told[1:] == ["", "No launch is worse in B."]
    diff("raced.py", "turn.py")
    diff("raced.py", "raced.py", "--set-b", "PITCH=34", "--tolerance", "1000")


def test_a_launch_that_only_one_has_shows_what_it_costs(here, diff):
    more = TURN.replace("@cuda.jit", "@cuda.jit\ndef fill(a):\n    a[cuda.threadIdx.x, 0] = 1\n\n@cuda.jit")
    (here / "more.py").write_text(more + "    fill[1, 32](a)\n")
    assert "| `fill` | only in B | - | - | - | 32 |  |" in diff("turn.py", "more.py", "--markdown").out.splitlines()
