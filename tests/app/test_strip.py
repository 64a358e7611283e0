"""The gallery's first words show lanes in their banks, at once or in a queue."""

import pytest
from helpers.fitting import axe
from helpers.waiting import settle
from playwright.sync_api import expect

from smemviz.paths import kernels_dir

pytestmark = pytest.mark.browser


def places(page):
    """Return how many places the lanes have from left to right, and how many from top to bottom."""
    return tuple(
        page.evaluate(
            """() => {
              const boxes = [...document.querySelectorAll("#page .lanes i")].map((one) => one.getBoundingClientRect());
              return ["left", "top"].map((side) => new Set(boxes.map((box) => Math.round(box[side]))).size);
            }"""
        )
    )


def test_lanes_queue_down_a_column_and_find_a_bank_each_along_a_row(page):
    page.emulate_media(reduced_motion="reduce")
    page.goto("/")
    settle(page)
    expect(page.locator("#page .cards").first).to_be_attached()
    told = page.locator("#page .strip [role=status]:not(.brought)")
    expect(told).to_have_text("32 wavefronts to read 32 words", use_inner_text=True)
    assert places(page) == (1, 32)
    page.get_by_role("button", name="along a row").click()
    expect(told).to_have_text("1 wavefront to read 32 words", use_inner_text=True)
    page.wait_for_timeout(100)
    assert places(page) == (32, 1)
    axe(page)
    page.get_by_role("link", name="Start: why shared memory").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Why shared memory")


PASTE = """(text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text", text);
  document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
}"""


def test_a_kernel_that_is_brought_opens_in_the_editor_or_gets_its_command(page):
    page.goto("/")
    settle(page)
    said = page.locator("#page .brought")
    for file, command in (("reverse.cu", "smemviz reverse.cu"), ("recordings/h200/square.smem.npz", "smemviz square")):
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="choose a file").click()
        chooser.value.set_files(kernels_dir() / file)
        expect(said.locator("code")).to_contain_text(command)
    page.evaluate(PASTE, "a shopping list")
    expect(said).to_have_text("That is no kernel: nothing in it says cuda.")
    axe(page)
    page.evaluate(PASTE, (kernels_dir() / "tasks" / "padding.py").read_text("utf-8").replace("TILE", "SIDE"))
    expect(page.locator(".cm-content")).to_contain_text("SIDE = 32")
