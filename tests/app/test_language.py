"""The language of pages: every text of the frame, the gallery and the kernel page is a message, and none is kept."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from dash import Dash, html
from dash.development.base_component import Component
from flask.testing import FlaskClient
from helpers.callbacks import CALLBACKS, asking_for
from helpers.pages import open_page, serve
from helpers.pseudo import TAG, forgotten, leaves_nothing, names_in, pseudo, said_by
from playwright.sync_api import Browser, expect
from plotly.utils import PlotlyJSONEncoder

from smemviz.app.factory import create_app
from smemviz.app.frame import above, below, drawn
from smemviz.app.library import Library
from smemviz.app.pages.gallery_page import gallery_page
from smemviz.app.pages.kernel.kernel_page import kernel_page
from smemviz.app.pages.kernel.measured.timing_panel import view_job
from smemviz.app.pages.kernel.run_view import view_run
from smemviz.app.state import RunState
from smemviz.app.tasks.jobs import Job
from smemviz.app.tasks.stopwatch import Running, Stopwatch
from smemviz.i18n import _, speaking, spoken
from smemviz.paths import gallery, kernels_dir
from smemviz.wording.labels import described_conditions

SQUARE = {"file": "square", "kernel": "set_row_read_col"}


def page_of(served: Library, run: Mapping[str, str], **look: str) -> Component:
    return kernel_page(served, Stopwatch(Job(allowed=False)), dict(run), {"theme": "light", **look})


def names(served: Library, run: Mapping[str, str]) -> list[str]:
    shown = served.show(RunState.read(run))
    recorded = names_in(shown.program, shown.recorded) if shown.recorded else []
    return [*names_in(shown.program, shown.recording), *recorded, "CUDA C++", "Numba"]


def test_what_is_no_message_is_found() -> None:
    with pseudo():
        assert forgotten(html.P(_("Tile"))) == []
        assert forgotten(html.P("Tile")) == ["Tile"]
        assert forgotten(html.P(title="Tile")) == ["Tile"]
        assert forgotten(_("{op} of a tile", op="load")) == ["load⟦ of a tile⟧"]
        assert forgotten(_("{op} of a tile", op="load"), data=["load"]) == []
        assert forgotten([html.Code("tile"), html.Span("tile", className="big notranslate")]) == []
        assert forgotten(html.P("raised ValueError", lang="en")) == []


def test_every_text_of_the_frame_is_a_message() -> None:
    with pseudo():
        assert forgotten([*above("/", Library(gallery()[:1]), editor=True), drawn(), below()]) == []


@pytest.mark.exhaustive
def test_every_text_of_the_gallery_is_a_message(served: Library, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("def main(:\n", encoding="utf-8")
    library = Library([broken, *gallery()])
    data = [word for file in served.files for word in names(served, {"file": file})]
    with pseudo():
        assert forgotten(gallery_page(library), [*data, *library.files, str(broken), "invalid syntax"]) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "run",
    [
        {"file": "square", "kernel": "set_row_read_col"},
        {"file": "square", "kernel": "set_row_read_col_pad", "source": "lockstep", "cc": "1.0"},
        {"file": "rectangle", "kernel": "set_col_read_col", "cc": "3.5-8"},
        {"file": "reduce", "source": "lockstep"},
        {"file": "histogram"},
        {"file": "matmul", "kernel": "naive_swapped"},
        {"file": "matmul", "kernel": "tiled_transposed", "N": "64"},
        {"file": "latency"},
        {"file": "mistakes", "kernel": "no_second_barrier"},
        {"file": "mistakes", "kernel": "too_many_threads"},
    ],
    ids=" ".join,
)
def test_every_text_of_a_kernel_page_is_a_message(served: Library, run: dict[str, str]) -> None:
    run = {name: value for name, value in run.items() if name != "file"} | {"file": run["file"]}
    data = names(served, run)
    with pseudo():
        assert forgotten(page_of(served, run, banks="16"), data) == []
        assert forgotten(page_of(served, run, view="physical", scope="launch", site="1"), data) == []


def test_a_refusal_and_what_it_leaves_are_messages(served: Library) -> None:
    run = {"file": "square", "BDIMX": "64"}
    with pseudo():
        filling = view_run(served, run, before="set_row_read_row")
        assert forgotten(filling["headline.children"]) == []
        assert forgotten(filling["notices.html"], ["set_row_read_row", "square.py"]) == []


def test_a_time_that_is_taken_or_was_not_is_told_in_messages(served: Library) -> None:
    class Busy(Stopwatch):
        available = True  # type: ignore[assignment]

        def running(self) -> Running | None:
            return Running("square.py", 2.5, 1, self.kernel)

        def problem(self, shown: object) -> str | None:
            return "it was stopped after 300 s"

    with pseudo():
        stopwatch = Busy()
        for stopwatch.kernel in ("", "set_row_read_row"):
            status = view_job(stopwatch, served, SQUARE)["measure-status.html"]
            assert forgotten(status, ["square.py", "set_row_read_row"]) == []
        stopwatch.running = lambda: None  # type: ignore[method-assign]
        assert forgotten(view_job(stopwatch, served, SQUARE)["measure-status.html"]) == []
        other = page_of(served, {**SQUARE, "BDIMX": "16", "BDIMY": "16"})
        assert forgotten(other["timing-body"].children) == []


def test_the_state_of_the_card_is_told_in_messages() -> None:
    read = {"SM clock": "1980 MHz", "power": "122 W", "throttled by": "software power cap, power brake"}
    assert described_conditions(read) == "SM clock 1980 MHz, power 122 W, throttled by software power cap, power brake"
    assert described_conditions({"throttled by": "nothing"}) == "throttled by nothing"
    with pseudo():
        assert forgotten(described_conditions(read)) == []


def shape(component: Component) -> str:
    return json.dumps(component, cls=PlotlyJSONEncoder)


@pytest.mark.exhaustive
def test_no_page_keeps_the_language_of_another(served: Library) -> None:
    leaves_nothing(lambda: shape(html.Div([page_of(served, SQUARE), *gallery_page(served)])))
    data = names(served, SQUARE)
    with pseudo():
        assert forgotten(page_of(served, SQUARE), data) == []


@pytest.fixture(scope="module")
def app() -> Dash:
    return create_app([kernels_dir() / "square.py"])


def asked(app: Dash, address: str, accepted: str = "") -> str:
    """Return the document for an address; the language of the request ends with it, as where each has its thread."""
    with speaking("en"):
        return app.server.test_client().get(address, headers={"Accept-Language": accepted}).text


@pytest.mark.parametrize(
    ("address", "accepted", "language"),
    [
        ("/", "", "en"),
        ("/", "ko-KR,ko;q=0.9,en;q=0.8", "ko"),
        ("/", "en;q=0.5,zh-CN", "zh-Hans"),
        ("/", "fr,de;q=0.8", "en"),
        ("/kernel?file=square&lang=ko", "zh-CN", "ko"),
        ("/kernel?file=square&lang=zh-Hans", "", "zh-Hans"),
        ("/?lang=en", "ko", "en"),
        ("/?lang=xx", "ko", "en"),
    ],
)
def test_a_document_is_in_the_language_of_its_address_else_of_the_browser(
    app: Dash, address: str, accepted: str, language: str
) -> None:
    assert f'<html lang="{language}">' in asked(app, address, accepted)


def test_an_address_without_a_language_is_in_that_of_its_asker_each_time(app: Dash) -> None:
    languages = ("ko", "en", "zh-Hans", "en", "ko")
    assert [asked(app, "/", one).partition('lang="')[2].partition('"')[0] for one in languages] == list(languages)
    assert spoken() == "en"


def filled(client: FlaskClient, language: str) -> str:
    asked = asking_for({"path": "/kernel", "file": "square"}, SQUARE, {"theme": "light"})
    answer = client.post(CALLBACKS, json=asked, headers={"Accept-Language": language})
    assert answer.status_code == 200
    return answer.text


@pytest.mark.exhaustive
def test_threads_that_speak_different_languages_do_not_mix(app: Dash) -> None:
    together = Barrier(16)

    def ask(language: str) -> list[str]:
        together.wait()
        return [filled(app.server.test_client(), language) for _ in range(2)]

    with pseudo(), ThreadPoolExecutor(16) as threads:
        with speaking("en"):
            expected = {language: filled(app.server.test_client(), language) for language in ("en", TAG)}
        assert expected["en"] != expected[TAG]
        languages = ["en", TAG] * 8
        for language, answers in zip(languages, threads.map(ask, languages), strict=True):
            assert answers == [expected[language]] * 2


@pytest.mark.browser
def test_what_a_browser_shows_of_the_gallery_and_a_kernel_is_messages(browser: Browser, served: Library) -> None:
    data = [word for file in served.files for word in (file, *names(served, {"file": file}))]
    with pseudo(), serve() as address, open_page(browser, address) as page:
        page.goto(f"/?lang={TAG}")
        expect(page.locator(".card")).to_have_count(len(gallery()))
        assert forgotten(said_by(page), data) == []
        page.goto(f"/kernel?file=square&kernel=set_row_read_col&lang={TAG}")
        expect(page.locator("#verdict")).not_to_be_empty()
        page.locator("#play").click()
        expect(page.locator("#play")).to_have_attribute("aria-label", "⟦Pause⟧")
        assert forgotten(said_by(page), data) == []
