"""Mistakes in a kernel file: badges, marked lines, notices, refusals, and the way back from them."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from dash import html
from helpers.components import parts, text
from helpers.made_kernels import LONG, SHORT
from helpers.pages import headline, knob
from playwright.sync_api import expect

from smemviz.app.library import Library
from smemviz.app.pages.gallery_page import gallery_page
from smemviz.app.pages.kernel.kernel_page import kernel_page
from smemviz.app.pages.kernel.run_view import view_run
from smemviz.app.pages.kernel.why_panel import view_why
from smemviz.app.state import RunState
from smemviz.app.tasks.jobs import Job
from smemviz.app.tasks.stopwatch import Stopwatch
from smemviz.cli.servers import check
from smemviz.errors import InputError, LaunchError, UnlaunchedError
from smemviz.paths import kernels_dir
from smemviz.progress import LINES as LINES_OF_PROGRESS

LINES = (kernels_dir() / "mistakes.py").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def served():
    return Library([kernels_dir() / "mistakes.py", kernels_dir() / "square.py"])


def marked(source):
    lines = [part for part in parts(source) if "mistaken" in str(getattr(part, "className", ""))]
    return [
        (text(line.children[0]), text([part for part in parts(line) if getattr(part, "className", "") == "mistake"]))
        for line in lines
    ]


def test_what_does_no_harm_is_no_headline_and_no_marked_line(tmp_path):
    (tmp_path / "short.py").write_text(SHORT.replace("a[i]", "a[i - 1]"))

    shown = view_run(Library([tmp_path / "short.py"]), {"file": "short"})

    assert marked(shown["source.html"]) == []
    hints = [text(part) for part in parts(shown["source.html"]) if getattr(part, "className", "") == "hint"]
    assert hints == ["negative index"]
    assert "Negative index" not in shown["headline.children"]
    assert [text(notice)[:14] for notice in shown["notices.html"]] == ["Negative index"]


@pytest.mark.parametrize(
    ("kernel", "kind", "lines"),
    [
        ("store_past_the_edge", "out of bounds", ["    c[row, column] = total"]),
        ("block_smaller_than_tile", "unwritten read", ["        total += a_tile[ty, k] * b_tile[k, tx]"]),
        (
            "no_second_barrier",
            "race",
            ["        a_tile[ty, tx] = a[row, first + tx]", "        b_tile[ty, tx] = b[first + ty, column]"],
        ),
        ("barrier_in_a_branch", "barrier divergence", ["        cuda.syncthreads()"]),
        ("count_without_atomic", "race", ["        count[0] += 1"]),
    ],
)
def test_a_kernel_shows_its_mistakes_and_their_lines(served, kernel, kind, lines):
    shown = view_run(served, {"file": "mistakes", "kernel": kernel})

    found = marked(shown["source.html"])
    assert [LINES[int(number) - 1] for number, _ in found] == lines
    assert {said for _, said in found} == {kind}
    recording = served.show(RunState("mistakes")).recording
    launch = recording[kernel]
    first, *others = (f for f in recording.findings if f.kernel == kernel)
    (title,) = view_why(served, {"file": "mistakes", "kernel": kernel}, {})["why.html"]
    where = next(line for line in title.children if text(line).startswith("Line "))
    assert text(where).startswith(f"Line {first.line}: block {first.block}, thread")
    # The first stands in the title, and with it what has the same remedy.
    also = [line for line in title.children if text(line).startswith("Also: ")]
    alike = [finding for finding in others if (finding.line, finding.parts[1]) == (first.line, first.parts[1])]
    assert [text(line).startswith(f"Also: {f.parts[0]}") for line, f in zip(also, alike, strict=True)] == [True] * len(
        alike
    )
    others = [finding for finding in others if finding not in alike]
    assert len(shown["notices.html"]) == len(others)
    for notice, finding in zip(shown["notices.html"], others, strict=True):
        assert notice.children[0].children == kind.capitalize()
        said = text(notice.children[1])
        assert said.startswith(f"Line {finding.line}: {kind} in {kernel}, block {finding.block}, thread")
        assert (finding.message in said) != (finding.message == first.message)
    for finding, said in zip(
        (first, *others), (where, *(notice.children[1] for notice in shown["notices.html"])), strict=True
    ):
        link = [part for part in parts(said) if getattr(part, "className", "") == "access-link"]
        if finding.kind == "barrier_divergence":  # at no access
            assert link == []
            continue
        query = dict(parse_qsl(urlsplit(link[0].href).query))
        site = launch.sites[int(query["site"])]
        assert (site.line, finding.message.startswith(site.array)) == (finding.line, True)
        assert (query["kernel"], query["block"]) == (kernel, str(finding.block[0]))


def test_the_kernels_of_the_file_are_told_apart_by_their_mistakes(served):
    links = view_run(served, {"file": "mistakes"})["kernels.html"][:-1]

    assert [text(link) for link in links] == [
        "store_past_the_edgeout of bounds",
        "block_smaller_than_tileunwritten read",
        "corner_of_each_tileunwritten read",
        "no_second_barrierrace",
        "barrier_in_a_branchbarrier divergence",
        "count_without_atomicrace",
        "too_many_threadsrefused",
        "too_much_static_memoryrefused",
        "too_much_dynamic_memoryrefused",
    ]


def test_a_kernel_that_was_refused_says_why_and_keeps_the_way_back(served):
    shown = view_run(served, {"file": "mistakes", "kernel": "too_many_threads"})

    assert shown["headline.children"] == "A block of 32 x 33 x 1 has 1056 threads; a device takes 1024"
    line = next(i for i, one in enumerate(LINES, 1) if one.startswith("    too_many_threads["))
    said = text(shown["notices.html"])
    assert said.startswith(f"mistakes.py:{line}: a block of 32 x 33 x 1 has 1056 threads; a device takes 1024.")
    assert said.endswith(LINES[line - 1].strip())
    current = [link for link in shown["kernels.html"] if "current" in link.className]
    assert [text(link) for link in current] == ["too_many_threadsrefused"]
    source = text(shown["source.html"])
    assert "def too_many_threads(values):" in source
    assert "values[row, column] = 0" in source
    assert marked(shown["source.html"]) == [(str(line), "launch refused")]
    assert shown["results.className"] == "columns nothing refused"
    assert text(shown["eyebrow.html"]) == "mistakes.py · too_many_threads"


def test_a_file_that_says_no_launch_opens_with_one_to_copy(tmp_path, capsys):
    path = tmp_path / "mine.cu"
    path.write_text("__global__ void clear(float *values) { values[threadIdx.x] = 0; }\n")
    with pytest.raises(UnlaunchedError):
        check(path)  # as a server for others
    assert not check(path, scripts=True)
    comment = "// smemviz: clear<<<1, 32>>>(zeros(1024))"
    assert comment in capsys.readouterr().err

    shown = view_run(Library([path]), {"file": "mine.cu"})

    assert shown["headline.children"] == "How is this kernel launched?"
    (copy,) = (part for part in parts(shown["notices.html"]) if getattr(part, "data-code", ""))
    assert getattr(copy, "data-code") == comment
    assert text(shown["eyebrow.html"]) == "mine.cu · clear"
    assert "void clear(float *values)" in text(shown["source.html"])


def test_a_refusal_by_a_knob_shows_the_values_that_were_refused_and_greys_what_was_there(served):
    query = {"file": "square", "kernel": "set_row_read_col", "BDIMX": "64"}
    refused = view_run(served, query, "set_row_read_col")
    assert refused["shown-run.data"]["title"] == "set_row_read_col"
    assert {name: refused["shown-run.data"]["values"][name] for name in ("BDIMX", "BDIMY", "PITCH")} == {
        "BDIMX": 64,
        "BDIMY": 64,
        "PITCH": 65,
    }
    assert not {"source.html", "kernels.html"} & set(refused)

    page = kernel_page(served, Stopwatch(Job(environment=LINES_OF_PROGRESS)), query, {"theme": "light"})
    assert page["results"].className == "columns stale"
    said = "The pictures below are of set_row_read_col with the constants as the file has them."
    assert text(page["notices"]).endswith(said)
    assert "a block of 64 x 64 x 1 has 4096 threads" in text(page["notices"])
    assert len(page["kernels"].children) > 1
    assert "tile[tx, ty]" in text(page["source"].children)
    assert len(page["played"].data["arrays"][0]["address"]) == 32 * 32
    assert page["drawn-run"].data == {"file": "square", "kernel": "set_row_read_col"}


def test_what_takes_too_long_for_a_page_is_refused_at_once(tmp_path):
    """The whole would take many minutes; a second of it tells so."""
    path = tmp_path / "long.py"
    path.write_text(LONG, encoding="utf-8")
    with pytest.raises(InputError, match=r"long.py: kernel would take about \d+ min in lockstep, too long for a page"):
        Library([path]).show(RunState("long"))


def test_a_refused_kernel_has_no_launch(served):
    shown = served.show(RunState("mistakes"))
    with pytest.raises(LaunchError, match="65536 bytes of static shared memory"):
        shown.launch(RunState("mistakes", kernel="too_much_static_memory"))
    assert shown.launch(RunState("mistakes", kernel="no_such_kernel")).kernel == "store_past_the_edge"


def test_the_card_counts_the_mistakes(served):
    card, other = (part for part in parts(gallery_page(served)) if isinstance(part, html.Article))

    assert "12 mistakes found while it ran" in text(card)
    assert "mistake" not in text(other)
    assert "too_much_dynamic_memoryrefused" in text(card)


@pytest.mark.browser
def test_a_refused_kernel_leads_to_the_others_and_back(page):
    page.goto("/kernel?file=mistakes&kernel=too_many_threads")
    headline(page, "A block of 32 x 33 x 1 has 1056 threads; a device takes 1024")
    page.get_by_role("link", name="store_past_the_edge").click()
    headline(page, "Out of bounds on line 45")
    expect(page.locator(".source-line.mistaken")).to_contain_text("c[row, column] = total")
    expect(page.locator(".source-line.mistaken")).to_contain_text("out of bounds")
    page.get_by_role("link", name="too_many_threads").click()
    headline(page, "A block of 32 x 33 x 1 has 1056 threads; a device takes 1024")


@pytest.mark.browser
def test_lowering_a_knob_mends_a_refused_launch(page):
    page.goto("/kernel?file=mistakes&kernel=too_many_threads")
    knob(page, "TALL", 32)
    expect(page.get_by_role("heading", level=1)).to_contain_text("No shared memory is used")
