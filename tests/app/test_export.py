"""The button that every figure has, and the files it makes in the browser."""

import xml.etree.ElementTree as ET

import pytest
from helpers.fitting import axe
from helpers.waiting import settle
from PIL import Image
from playwright.sync_api import expect

from smemviz.app.components.graph import download

TRANSPOSE = "/kernel?file=square&kernel=set_row_read_col&site=1&warp=0&step=1"
LANES = {f"L{lane}" for lane in range(32)}


def saved(page, panel, form, folder):
    button = page.locator(f"{panel} .save > summary")
    button.click()
    with page.expect_download() as found:
        page.locator(f"{panel} [data-save={form}]").click()
    path = folder / found.value.suggested_filename
    found.value.save_as(path)
    return path


def test_the_button_says_what_it_saves():
    summary = download("Tile").children[1].children[0]
    assert summary.to_plotly_json()["props"]["aria-label"] == "Save Tile"


@pytest.mark.browser
def test_the_page_and_its_file_are_the_same_figure(page, tmp_path):
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.goto(TRANSPOSE)
    page.wait_for_selector("#tile svg")
    svg = saved(page, "#tile-panel", "svg", tmp_path)
    assert svg.name == "set_row_read_col-tile.svg"
    texts = ["".join(one.itertext()) for one in ET.parse(svg).getroot().iter("{http://www.w3.org/2000/svg}text")]
    assert sorted(texts) == sorted(text for text in page.locator("#tile text").all_text_contents() if text)
    assert set(texts) >= LANES
    png = saved(page, "#request-panel", "png", tmp_path)
    assert png.name == "set_row_read_col-banks-by-wavefront.png"
    with Image.open(png) as image:
        width = float(page.locator("#request svg").get_attribute("width") or 0)
        assert image.width == int(3 * width)
        assert len(image.convert("RGB").getcolors(1 << 20) or ()) > 10


@pytest.mark.browser
def test_a_saved_page_opens_from_disk_without_a_network(page, tmp_path):
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.goto(f"{TRANSPOSE}&theme=dark")
    page.wait_for_selector("#tile svg")
    path = saved(page, "#tile-panel", "html", tmp_path)
    browser = page.context.browser
    assert browser is not None
    alone = browser.new_context(offline=True).new_page()
    complaints: list[str] = []
    alone.on("console", lambda said: complaints.append(said.text))
    alone.on("pageerror", lambda error: complaints.append(str(error)))
    alone.goto(path.as_uri())
    alone.wait_for_selector("#figure svg")
    assert set(alone.locator("#figure text").all_text_contents()) >= LANES
    assert alone.locator("figcaption p").all_text_contents() == [
        page.locator("#eyebrow").inner_text() + ": " + page.locator("#headline").inner_text(),
        "load by warp 0, step 1: 32 lanes, 32 wavefronts where 1 would do",
        page.locator("#origin").inner_text(),
    ]
    assert "recorded on NVIDIA H200" in alone.locator("figcaption").inner_text()
    expect(alone.locator("#figure")).to_have_accessible_name(
        "Tile: load by warp 0, step 1: 32 lanes, 32 wavefronts where 1 would do"
    )
    alone.get_by_role("button", name="Table").click()
    expect(alone.get_by_role("region", name="Table of Tile").locator("td")).to_have_count(32 * 32)
    assert alone.locator("html").get_attribute("lang") == "en"
    axe(alone)
    assert complaints == []
    alone.context.close()


@pytest.mark.browser
def test_the_choice_closes_by_keyboard_and_by_a_click_elsewhere(page):
    page.goto(TRANSPOSE)
    page.wait_for_selector("#tile svg")
    button = page.locator("#tile-panel .save > summary")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#tile-panel .save[open]")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".save[open]")).to_have_count(0)
    button.click()
    page.locator("h1").click()
    expect(page.locator(".save[open]")).to_have_count(0)


@pytest.mark.browser
@pytest.mark.parametrize("address", ["/kernel?file=square", "/compare?file=square", "/matmul"])
def test_every_figure_of_a_page_has_the_button(page, address):
    page.goto(address)
    page.wait_for_selector(".js-plotly-plot .main-svg")
    settle(page)
    figures = page.locator(".graph:visible, .own-figure:visible").count()
    assert figures > 0
    assert page.locator(".save:visible").count() == figures
