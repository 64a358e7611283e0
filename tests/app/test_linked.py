"""Who points at a lane, an element, a bank or an access sees the same in the tile, the banks and the source."""

import pytest
from helpers.fitting import axe
from helpers.waiting import settle
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
PADDED = "/kernel?file=square&kernel=set_row_read_col_pad&site=0&warp=0&step=0"


def lit(page, figure):
    """Return how many cells of a picture are rimmed, and how many others are not veiled."""
    rimmed, cloth = page.evaluate(
        """(figure) => [".rim", ".cloth"].map((kind) => {
          const path = document.querySelector(`#${figure} .veil ${kind}`);
          return path ? (path.getAttribute("d").match(/M/g) || []).length : 0;
        })""",
        figure,
    )
    return rimmed, cloth - 1 - rimmed


def point_at_bank(page, bank):
    box = page.locator("#request svg").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 44 + (box["width"] - 46) / 32 * (bank + 0.5), box["y"] + box["height"] - 34 - 8)


def test_a_bank_lights_its_elements_its_lane_and_the_access(page):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(PADDED)
    settle(page)
    point_at_bank(page, 5)
    # Of 32 rows of 33 words a bank has 33; lane 5 is in one of them.
    assert lit(page, "tile") == (1, 32)
    assert lit(page, "request") == (1, 0)
    expect(page.locator("#source .lit")).to_have_text("tile[ty, tx]")
    page.mouse.move(2, 2)
    expect(page.locator(".veil")).to_have_count(0)
    page.get_by_role("button", name="tile[tx, ty] shared load").hover()
    assert lit(page, "tile") == (32, 0)  # of the request that it would go to
    expect(page.locator("#source .lit")).to_have_text("tile[tx, ty]")


def test_a_click_pins_a_lane_through_steps_and_escape_lets_go(page):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(PADDED)
    settle(page)
    point_at_bank(page, 5)
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(2, 2)
    expect(page.locator("#lit")).to_have_text("lane 5: tile[0, 5], bank 5, wavefront 1")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#lit")).to_have_text("lane 5: tile[1, 5], bank 6, wavefront 1")
    assert lit(page, "tile") == (1, 32)
    axe(page)
    page.keyboard.press("Escape")
    expect(page.locator(".veil")).to_have_count(0)
    expect(page.locator("#lit")).to_have_text("")


def test_up_and_down_go_from_lane_to_lane_in_a_picture(page):
    page.goto(PADDED)
    settle(page)
    page.locator("#tile").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#lit")).to_have_text("lane 0: tile[0, 0], bank 0, wavefront 1")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#lit")).to_have_text("lane 31: tile[0, 31], bank 31, wavefront 1")
    button = page.get_by_role("button", name="out[idx] global store")
    button.focus()
    page.keyboard.press("Shift+Tab")
    expect(page.locator("#source .lit")).to_have_text("tile[ty, tx]")
