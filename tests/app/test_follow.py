"""A file that is edited while its page is open."""

import logging

import pytest
from helpers.pages import headline, knob, open_page, serve
from playwright.sync_api import expect

from smemviz.app.pages.kernel.follow import version
from smemviz.paths import kernels_dir

CONFLICT = "992 excess wavefronts, all on line 80, 32-way"
NO_CONFLICT = "No bank conflict: 64 wavefronts, as few as possible"
SQUARE = (kernels_dir() / "square.py").read_text(encoding="utf-8")


def test_a_version_follows_what_the_file_says_and_what_it_imports(tmp_path):
    path = tmp_path / "mine.py"
    assert version(path) is None
    path.write_text("import beside\n")
    alone = version(path)
    assert version(path) == alone
    (tmp_path / "beside.py").write_text("ONE = 1\n")
    both = version(path)
    (tmp_path / "beside.py").write_text("ONE = 2\n")
    assert len({alone, both, version(path)}) == 3
    path.write_text("import beside\nBROKEN = (\n")
    assert str(version(path)).endswith("mine.py:2: is not valid Python: '(' was never closed")


@pytest.fixture
def followed(tmp_path, browser):
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    path = tmp_path / "mine.py"
    path.write_text(SQUARE, encoding="utf-8")
    with serve([path], follow=True) as address, open_page(browser, address) as page:
        page.goto("/kernel?file=mine&kernel=set_row_read_col_pad&site=1")
        headline(page, NO_CONFLICT)
        yield path, page


@pytest.mark.browser
def test_a_saved_file_is_on_the_page_and_the_address_stays(followed):
    path, page = followed
    address = page.url
    path.write_text(SQUARE.replace("IPAD = 1", "IPAD = 0"), encoding="utf-8")
    headline(page, CONFLICT)
    expect(page.get_by_label("IPAD", exact=True)).to_have_value("0")
    expect(page.locator("#position-text")).to_contain_text("load by warp 0, step 1")
    assert page.url == address


@pytest.mark.browser
def test_a_file_that_cannot_be_run_says_where_and_keeps_its_picture(followed):
    path, page = followed
    page.locator("#tile svg text").first.wait_for()
    path.write_text(SQUARE.replace("IPAD = 1", "IPAD = (1"), encoding="utf-8")
    line = SQUARE[: SQUARE.index("IPAD = 1")].count("\n") + 1
    error = page.locator("#error")
    expect(error).to_contain_text(f"mine.py:{line}: is not valid Python: '(' was never closed")
    expect(error).to_contain_text("The pictures below are of the last run that worked, set_row_read_col_pad.")
    expect(page.locator("#tile svg text").first).to_be_visible()
    path.write_text(SQUARE, encoding="utf-8")
    headline(page, NO_CONFLICT)
    expect(error).to_have_count(0)


@pytest.mark.browser
def test_a_new_constant_gets_a_knob_and_a_set_one_stays_set(followed):
    path, page = followed
    knob(page, "IPAD", "0")
    headline(page, CONFLICT)
    path.write_text(SQUARE.replace("IPAD = 1", "IPAD = 1\nMORE = 5"), encoding="utf-8")
    expect(page.get_by_label("MORE", exact=True)).to_have_value("5")
    expect(page.get_by_label("IPAD", exact=True)).to_have_value("0")
    headline(page, CONFLICT.replace("80", "81"))  # a line further down
    assert "IPAD=0" in page.url
