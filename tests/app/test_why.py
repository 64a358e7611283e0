"""The panel that explains the site one looks at."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.components import text

from smemviz.app.components.launches import Filling
from smemviz.app.library import Library
from smemviz.app.pages.kernel.why_panel import view_why
from smemviz.paths import gallery, kernels_dir

RUN = {"file": "square", "kernel": "set_row_read_col"}


@pytest.fixture(scope="module")
def served() -> Library:
    return Library(gallery())


def shown(filling: Filling) -> str:
    """Return the text of the explanation that is not hidden."""
    (one,) = (part for part in filling["why.html"] if not part.hidden)
    return text(one.children)


def test_the_request_that_wastes_the_most_is_explained_first(served: Library) -> None:
    filling = view_why(served, RUN, {"theme": "light"})
    assert shown(filling) == (
        "Stride of 32 words. Neighbouring lanes are 32 words apart, 1 row down: "
        "gcd(32, 32) = 32, so 32 lanes fall into 1 of 32 banks, 32-way."
        "Fix. Pad the row of tile by 1, (32, 32) -> (32, 33) (128 bytes more), or swizzle to tile[r, c ^ r]: "
        "no excess is left at its 2 accesses, 992 before. Lesson: A pad of one · On every GPU"
    )


def test_another_site_has_its_own_explanation_and_needs_no_fix(served: Library) -> None:
    filling = view_why(served, RUN, {"theme": "light", "site": "0"})
    assert shown(filling) == (
        "Stride of 1 word. Neighbouring lanes are 1 word apart, 1 column right: "
        "gcd(1, 32) = 1, so 32 lanes fall into 32 of 32 banks, one each. On every GPU"
    )


def test_it_counts_for_the_gpu_that_is_chosen(served: Library) -> None:
    filling = view_why(served, RUN | {"cc": "1.3"}, {"theme": "light"})
    assert "bank 0 has to deliver 16 different words to lanes 0-15, 16-way" in shown(filling)


def test_a_refused_run_changes_nothing(served: Library) -> None:
    assert view_why(served, RUN | {"BDIMX": "33"}, {"theme": "light"}) == {}


def test_a_launch_without_a_request_has_nothing_to_explain(tmp_path: Path) -> None:
    file = tmp_path / "idle.py"
    file.write_text(
        "from numba import cuda\n\n@cuda.jit\ndef idle():\n    pass\n\ndef main():\n    idle[1, 32]()\n",
        encoding="utf-8",
    )
    library = Library([file])
    assert view_why(library, {"file": "idle"}, {"theme": "light"}) == {"why.html": []}


def said_first(file: str, kernel: str) -> list[str]:
    """Return what is said of a mistake, the first of what is not hidden."""
    filling = view_why(Library([kernels_dir() / file]), {"file": file.removesuffix(".py"), "kernel": kernel}, {})
    first, *others = filling["why.html"]
    assert not any("Fix." in text(other) for other in others)
    return [text(line) for line in first.children]


@pytest.mark.parametrize("file", ["mistakes.py", "mistakes.cu"])
def test_a_mistake_is_what_is_fixed_first_and_what_only_seems_right_is_said(file: str) -> None:
    element = "a_tile[0][2]" if file.endswith(".cu") else "a_tile[0, 2]"
    assert said_first(file, "corner_of_each_tile") == [
        f"Unwritten read. {element} is read, but nothing wrote it: the block has 4 threads and a_tile 1024 elements.",
        "Fix. Make them as many, or let each thread store several.",
        "It stores 4 of the 1,024 elements of c, and the others keep what was there: where an earlier launch left the "
        "right result, this one seems right. Fill c with something else first, such as NaN.",
    ]
    reason, fix = said_first(file, "no_second_barrier")
    assert "with no barrier between." in reason
    assert fix.startswith("Fix. Put ")
