from pathlib import Path

import pytest
from dash import dcc, html
from helpers.components import parts, text
from helpers.gallery import RECORDINGS
from helpers.made_kernels import FILLS

from smemviz.app.addresses import LEARN
from smemviz.app.components.written_html import as_html
from smemviz.app.factory import create_app
from smemviz.app.library import Library
from smemviz.app.pages.editor_page import editor_page, run_asked
from smemviz.app.pages.gallery_page import gallery_page, heading
from smemviz.app.pages.kernel.kernel_page import kernel_page
from smemviz.app.pages.kernel.run_view import view_run
from smemviz.app.pages.kernel.source_view import source_view
from smemviz.app.pages.kernel.why_panel import view_why
from smemviz.app.pages.learn.learn_page import learn_page
from smemviz.app.pages.learn.task_panel import task_after
from smemviz.app.state import RunState
from smemviz.app.tasks.stopwatch import Stopwatch
from smemviz.app.texts import Texts
from smemviz.errors import InputError
from smemviz.lessons.course import LESSONS
from smemviz.paths import gallery, kernels_dir
from smemviz.recordings.recording import Recording


def test_every_figure_keeps_to_this_machine_and_fits_its_place(served: Library) -> None:
    page = kernel_page(served, Stopwatch(), {"file": "square"}, {"theme": "light"})
    graphs = [part for part in parts(page) if isinstance(part, dcc.Graph)]
    assert {"warps", "spread", "elements"} < {str(graph.id) for graph in graphs}
    for graph in graphs:
        assert graph.config["displaylogo"] is False
        assert "sendChartToCloud" in graph.config["modeBarButtonsToRemove"]
        assert graph.config["showSendToCloud"] is False
        assert graph.config["plotlyServerURL"] == ""
        assert graph.responsive is True


def test_the_app_loads_nothing_from_elsewhere() -> None:
    page = create_app().server.test_client().get("/").text
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert '<html lang="en">' in page


def test_apps_can_be_built_one_after_the_other() -> None:
    first, second = create_app(), create_app(gallery()[:1])
    assert first is not second
    assert first.callback_map.keys() == second.callback_map.keys()


def test_a_kernel_file_that_cannot_run_has_a_card_that_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("def main(:\n")
    page = gallery_page(Library([broken, *gallery()[:2]]))
    first, *others = (part for part in parts(page) if isinstance(part, html.Article))
    assert "is not valid Python" in text(first)
    assert len(others) == 2


def test_a_page_of_a_file_that_is_not_served_is_refused(served: Library) -> None:
    with pytest.raises(InputError, match="not served here"):
        kernel_page(served, Stopwatch(), {"file": "/etc/passwd"}, {})


def test_a_page_comes_filled(served: Library) -> None:
    page = kernel_page(
        served, Stopwatch(), {"file": "square", "kernel": "set_row_read_col"}, {"theme": "dark", "warp": "3"}
    )
    assert page["headline"].children == "992 excess wavefronts, all on line 53, 32-way"
    assert page["present"].data == {"position": 3, "block": 0, "site": 0, "warp": 3, "step": 0}
    assert page["shown-run"].data["values"]["IPAD"] == 1
    assert len(page["played"].data["block"]["warp"]) == 96
    assert page["warps"].figure["layout"]["height"] == page["warps"].style["height"]


def test_a_refusal_leaves_what_is_there_and_says_what_it_is(served: Library) -> None:
    filling = view_run(served, {"file": "square", "BDIMX": "64"}, before="set_row_read_row")
    assert filling["results.className"] == "columns stale"
    assert "source.html" not in filling
    said = text(filling["notices.html"])
    assert "square.py:108: a block of 64 x 64 x 1 has 4096 threads; a device takes 1024." in said
    assert said.endswith("The pictures below are of the last run that worked, set_row_read_row.")


def test_what_was_found_is_told_with_line_block_and_threads(tmp_path: Path) -> None:
    path = tmp_path / "short.py"
    path.write_text(SHORT, encoding="utf-8")
    library = Library([path])
    title, notices = view_why(library, {"file": "short"}, {}), view_run(library, {"file": "short"})
    assert "Line 6: block (0, 0, 0), threads (16, 0, 0), (17, 0, 0), ... Show" in text(title["why.html"])
    assert "Line 10: main() ended with AssertionError" in text(notices["notices.html"])


SHORT = """\
import numpy as np
from numba import cuda, int32
@cuda.jit
def kernel(out):
    tile = cuda.shared.array(16, int32)
    tile[cuda.threadIdx.x] = 1
def main():
    out = cuda.to_device(np.zeros(32, np.int32))
    kernel[1, 32](out)
    assert out.copy_to_host().all()
"""


def recording(served: Library) -> Recording:
    return served.show(RunState("square")).recording


def test_the_source_has_the_kernel_s_lines_and_a_button_at_each_site(served: Library) -> None:
    recorded = recording(served)
    launch = recorded["set_row_read_col"]
    heads, *lines = source_view(recorded, launch, launch.summary())
    assert [text(head) for head in heads.children.children] == ["as written:", "degree", "excess", "share"]
    numbers = [int(line.children[0].children) for line in lines]
    assert numbers == list(range(43, 54))
    last = lines[-1]
    assert text(last.children[1]) == "    out[idx] = tile[tx, ty]"
    buttons = [part for part in last.children[1].children if isinstance(part, html.Button)]
    assert [(text(button), button.title, button.className) for button in buttons] == [
        ("out[idx]", "global store · 128 sectors, 4 per request", "badge plain"),
        ("tile[tx, ty]", "shared load · 32-way · 992 excess", "badge conflict"),
    ]
    assert [text(cell) for cell in last.children[2].children] == ["32-way", "992", "100 %"]
    assert last.className == "source-line heat-4"
    assert text(lines[-3].children[2]) == "1-way0"


def test_launches_that_are_alike_take_one_entry_with_their_number_and_the_worst_degree(tmp_path: Path) -> None:
    path = tmp_path / "often.py"
    launch = "fill[2 if i == 1 else 1, 32](out, 1 + i % 4 if i != 4 else 4)"
    path.write_text(FILLS + f"    for i in range(301):\n        {launch}\n")
    library = Library([path])
    (card,) = (part for part in parts(gallery_page(library)) if isinstance(part, html.Article))
    (entries,) = (part for part in parts(card) if getattr(part, "className", "") == "card-kernels")
    assert [text(entry) for entry in entries.children] == ["fill × 3004-way", "fill (2)2-way"]  # noqa: RUF001
    page = kernel_page(library, Stopwatch(), {"file": "often", "launch": "4"}, {"theme": "light"})
    assert [text(link) for link in page["kernels"].children[:-1]] == ["fill × 3004-way", "fill (2)2-way"]  # noqa: RUF001
    shown = page["shown-look"].data
    assert shown["values"]["launch"] == "4"
    assert len(shown["options"]["launch"]) == 300
    assert page["headline"].children == "3 excess wavefronts, all on line 8, 4-way"


def test_the_gallery_says_once_where_the_requests_of_its_files_are_from_and_how_own_files_come_here(
    served: Library,
) -> None:
    page = gallery_page(served)
    (origins,) = (part for part in parts(page) if "origins" in str(getattr(part, "className", "")))
    said = dict(text(one).split(": ", 1) for one in origins.children)
    assert len(set(said.values())) == len(said)
    assert {file for files in said for file in files.split(", ")} == {path.stem for path in gallery()}
    (recorded,) = (note for files, note in said.items() if "square" in files)
    assert recorded.startswith("Requests recorded on NVIDIA H200")
    (own,) = (part for part in parts(page) if "own-files" in str(getattr(part, "className", "")))
    assert "smemviz mine.py" in text(own)
    assert said["mistakes"].startswith("Requests run by the lockstep engine")


def test_a_card_folds_the_rest_of_many_kernels_and_its_picture_is_there_at_once_in_both_themes() -> None:
    page = gallery_page(Library([kernels_dir() / "matmul.py"]))
    (card,) = (part for part in parts(page) if isinstance(part, html.Article))
    (rest,) = (part for part in parts(card) if isinstance(part, html.Details))
    assert text(rest.children[0]) == "11 more kernels"
    pictures = [part for part in parts(card) if isinstance(part, html.Img)]
    assert [picture.className for picture in pictures] == ["in-light", "in-dark"]
    assert all("32 wavefronts where 1 would do" in picture.alt for picture in pictures)


def test_the_card_of_a_recording_says_that_it_is_one() -> None:
    library = Library([RECORDINGS / "square.smem.npz", kernels_dir() / "reverse.py"])
    titles = [text(part) for part in parts(gallery_page(library)) if isinstance(part, html.H3)]
    assert titles == ["square recording", "reverse"]


def test_the_knobs_that_a_kernel_does_not_read_are_folded(served: Library) -> None:
    page = kernel_page(served, Stopwatch(), {"file": "square", "kernel": "set_row_read_col"}, {"theme": "light"})
    *shown, folded = page["knobs"].children
    assert [knob.id["name"] for knob in shown] == ["BDIMX", "BDIMY"]
    assert isinstance(folded, html.Details)
    assert text(folded.children[0]) == "Not read by this kernel: IPAD, PITCH"
    assert folded.open is False
    assert page["knobs-of"].data[2] == ["IPAD", "int", "folded"]
    padded = kernel_page(served, Stopwatch(), {"file": "square", "kernel": "set_row_read_col_pad"}, {"theme": "light"})
    assert [knob.id["name"] for knob in padded["knobs"].children] == ["BDIMX", "BDIMY", "IPAD", "PITCH"]
    query = {"file": "square", "kernel": "set_row_read_col", "IPAD": "0"}
    assert kernel_page(served, Stopwatch(), query, {"theme": "light"})["knobs"].children[-1].open is True


def test_the_chooser_of_launches_stands_with_the_name_of_the_kernel(served: Library) -> None:
    query = {"file": "histogram", "kernel": "weigh_in_shared_memory"}
    page = kernel_page(served, Stopwatch(), query, {"theme": "light"})
    (line,) = (part for part in parts(page) if getattr(part, "className", "") == "eyebrow-line")
    assert [part.id for part in line.children] == ["eyebrow", "twins", {"type": "choice", "name": "launch"}]
    assert page["shown-look"].data["options"]["launch"] == ["0", "1"]


def test_the_same_kernel_elsewhere_is_linked_beside_its_name(served: Library) -> None:
    page = kernel_page(served, Stopwatch(), {"file": "square.cu", "kernel": "set_row_read_col"}, {"theme": "light"})
    links = page["twins"].children
    assert [text(link) for link in links] == ["The same in Python", "What the compiler did"]
    assert all(isinstance(link, html.A) for link in links)  # what is written as HTML knows no link of Dash's


def test_a_kernel_of_the_gallery_can_be_changed_in_the_editor_and_its_fix_leads_to_a_lesson(
    served: Library, texts: Texts
) -> None:
    query = {"file": "square", "kernel": "set_row_read_col"}
    page = kernel_page(Library(gallery(), texts), Stopwatch(), query, {"theme": "light", "site": "1"})
    links = {text(link): link.href for link in page["twins"].children}
    assert links["Change it in the editor"] == "/editor?file=square&kernel=set_row_read_col"
    start = editor_page(texts, query)["editor-start-text"].data
    assert start == {"text": (kernels_dir() / "square.py").read_text("utf-8"), "meant": True}
    assert 'href="/learn/padding"' in as_html(page["why"].html)
    page = kernel_page(served, Stopwatch(), query, {"theme": "light"})
    assert "Change it in the editor" not in [text(link) for link in page["twins"].children]


def test_the_editor_opens_on_a_short_kernel_with_a_conflict_and_its_fix(texts: Texts) -> None:
    start = editor_page(texts, {})["editor-start-text"].data
    assert not start["meant"]  # a draft comes first
    assert len(start["text"].splitlines()) <= 32
    query = {"file": run_asked(texts, start["text"]).answer["file"]}
    page = kernel_page(Library(gallery(), texts), Stopwatch(), query, {"theme": "light"})
    assert text(page["headline"]).startswith("3,968 excess wavefronts, all on line 22, 32-way")
    assert "Fix." in as_html(page["why"].html)


def test_what_a_newcomer_reads_first_says_what_its_numbers_mean() -> None:
    assert "and the lanes wait for each other: a bank conflict, 32-way." in text(heading(editor=False))
    assert "drop a .py or .cu file" in text(heading(editor=True))
    assert "drop" not in text(heading(editor=False))  # nobody may write kernels there
    fixes = sum(task_after(lesson.slug) is not None for lesson in LESSONS)
    assert fixes == 5
    assert "After 5 of them there is a kernel to fix." in text(html.Div(learn_page(LEARN)))
    assert "a kernel to fix" not in text(html.Div(learn_page(LEARN, editor=False)))
