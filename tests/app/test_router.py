"""Every page stands in one list, has a title, and calls what stands in its URL as the server does."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from helpers.callbacks import CALLBACKS, asking_for
from playwright.sync_api import Page, expect

from smemviz.app import addresses
from smemviz.app.factory import create_app
from smemviz.app.router import page_at, pages
from smemviz.app.state import LOOK, RUN, LookState, RunState
from smemviz.model.hardware.hardware import Hardware
from smemviz.paths import every_gallery

TITLES = {
    "/": "smemviz",
    "/kernel": "Kernel - smemviz",
    "/learn": "Learn - smemviz",
    "/learn/columns": "Learn - smemviz",
    "/compare": "Compare - smemviz",
    "/matmul": "Matrix product - smemviz",
    "/lab": "Layout lab - smemviz",
    "/swizzles": "Swizzles - smemviz",
    "/gpus": "GPUs - smemviz",
    "/editor": "Editor - smemviz",
    "/numbers": "What the numbers mean - smemviz",
    "/compare/more": "Not here - smemviz",
}


@pytest.fixture(scope="module")
def client() -> FlaskClient:
    return create_app().server.test_client()


@pytest.mark.parametrize("path", TITLES)
def test_the_document_at_an_address_has_the_title_of_its_page(client: FlaskClient, path: str) -> None:
    assert re.findall("<title>(.*)</title>", client.get(path).text) == [TITLES[path]]


@pytest.mark.parametrize("path", ["/learn/", *(path for path in TITLES if path != "/compare/more")])
def test_a_page_is_there(client: FlaskClient, path: str) -> None:
    assert client.get(path).status_code == 200


@pytest.mark.parametrize(
    "path", ["/.git/config", "/compare/more", "/learn/no-such-lesson", "/kernel.php", "/no such page"]
)
def test_what_is_no_page_is_not_found_and_a_page_that_says_so(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.mimetype) == (404, "text/html")
    said = client.post(CALLBACKS, json=asking_for({"path": path})).text
    assert "There is no such page." in said or "no lesson" in said


def test_the_document_of_the_gallery_holds_its_cards(client: FlaskClient) -> None:
    first = client.get("/?lang=ko").text.partition('id="first-words"')[2].partition("</main>")[0]
    assert first.count('<article class="card">') == len(every_gallery())
    assert "커널" in first


def test_the_gallery_says_of_own_files_that_their_cards_are_on_their_way(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def main(:\n", "utf-8")
    client = create_app([tmp_path / "mine.py"]).server.test_client()
    first = client.get("/").text.partition('id="first-words"')[2].partition("</main>")[0]
    assert re.findall('<p class="origin" role="status">(.*?)</p>', first) == ["Loading"]
    assert first.count('<article class="card waiting">') == 1


def test_every_address_is_of_one_page() -> None:
    named = {value for name, value in vars(addresses).items() if name.isupper()}
    assert {page.path for page in pages(editor=True)} == named
    assert len({page.title for page in pages(editor=True)}) == len(named)


def test_without_an_editor_there_is_no_page_of_it() -> None:
    assert page_at("/editor", editor=True)
    assert page_at("/editor", editor=False) is None
    assert "Not here" in create_app(editor=False).server.test_client().get("/editor").text


class Asked(Mapping[str, str]):
    """The query of a URL that notes what it is asked for."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def test_the_browser_hands_on_every_name_that_the_server_reads() -> None:
    run, look = Asked(), Asked()
    RunState.read(run)
    LookState.read(look)
    assert run.names == {*RUN} - {"against", "present", "task", "teach"}  # which their pages read themselves
    assert look.names == {*LOOK, "theme"}


@pytest.mark.browser
def test_the_tab_of_the_browser_says_which_page_it_shows(page: Page) -> None:
    page.goto("/")
    expect(page).to_have_title("smemviz")
    header = page.get_by_role("navigation", name="Pages")
    shown = {"Learn": "Learn", "Compare": "Compare", "Matmul": "Matrix product", "Layouts": "Layout lab"}
    for link, title in (shown | {"GPUs": "GPUs", "Editor": "Editor"}).items():
        header.get_by_role("link", name=link, exact=True).click()
        expect(page).to_have_title(re.compile(f"^{title} - smemviz$"))
        expect(header.locator("[aria-current=page]")).to_have_text(link)
    header.get_by_role("link", name="Learn", exact=True).click()
    lesson = page.locator(".learn-entry a").first
    name = lesson.inner_text()
    lesson.click()
    expect(page).to_have_title(f"{name} - smemviz")
    expect(header.locator("[aria-current=true]")).to_have_text("Learn")
    page.go_back()
    expect(page).to_have_title("Learn - smemviz")
    page.goto("/kernel?file=square&kernel=set_row_read_col")
    expect(page).to_have_title("set_row_read_col - smemviz")
    expect(header.locator("[aria-current=true]")).to_have_text("Gallery")
    page.goto("/no-such-page")
    expect(page).to_have_title("Not here - smemviz")


def test_upper_case_names_are_constants_and_the_rest_is_read_by_name() -> None:
    state = RunState.read(
        {"file": "square", "kernel": "k", "launch": "2", "IPAD": "2", "_N": "3", "cc": "8.6", "x": "1"}
    )
    assert state == RunState("square", "k", 2, {"IPAD": "2", "_N": "3"}, None, Hardware((8, 6)))


def test_what_makes_no_sense_is_left_out() -> None:
    state = RunState.read({"file": "square", "launch": "-1", "source": "guess", "cc": "99.9"})
    assert state == RunState("square")
    look = LookState.read({"block": "x", "warp": "1e9", "step": "9" * 20, "view": "?", "banks": "0", "theme": "pink"})
    assert look == LookState()


@pytest.mark.parametrize(
    ("text", "hardware"),
    [("9.0", Hardware()), ("3.5", Hardware((3, 5), 4)), ("3.5-8", Hardware((3, 5), 8)), ("1.3", Hardware((1, 3)))],
)
def test_hardware_reads_back_as_it_was_written(text: str, hardware: Hardware) -> None:
    assert RunState.read({"cc": text}).hardware == hardware
    assert hardware.key == text


def test_a_bank_mode_the_part_does_not_have_is_ignored() -> None:
    assert RunState.read({"cc": "9.0-8"}).hardware == Hardware((9, 0), 4)
