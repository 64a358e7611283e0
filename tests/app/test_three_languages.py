"""The dashboard in each of its languages: a walk through all of it, everything fits, and axe.

Texts are looked up in the catalogue, so that a better translation breaks nothing.
"""

import pytest
from helpers.fitting import CUT_OFF, axe
from helpers.made_kernels import SHORT
from helpers.pages import headline, knob, query
from helpers.waiting import settle
from playwright.sync_api import expect

from smemviz.i18n import LANGUAGES, _, speaking
from smemviz.wording.labels import access_name, clauses, count, degree_name, operation_name

pytestmark = pytest.mark.browser

BROWSERS = {"en": "en-GB", "ko": "ko-KR", "zh-Hans": "zh-CN"}  # the language of a browser, by ours
SPOKEN = [pytest.param(tag, marks=pytest.mark.browser_context_args(locale=BROWSERS[tag])) for tag in LANGUAGES]
TRANSPOSE = "/kernel?file=square&kernel=set_row_read_col"
PAGES = {  # by path, what comes last
    "/?": ".thumbnail img",
    f"{TRANSPOSE}&site=1&warp=0&step=1&": "#elements .main-svg",
    "/kernel?file=mistakes&kernel=no_second_barrier&": "#tile svg",
    "/compare?file=square&": "#compare-wavefronts .main-svg",
    "/matmul?": "#roofline .main-svg",
    "/lab?B=32x32%20float32;%20pad=1&": "#lab-results table",
    "/swizzles?": ".swizzle-map",
    "/gpus?": "#gpus-table table",
    "/editor?": "#tile svg",
    "/learn?": ".learn-entry",
    "/learn/columns?ANSWER=show&": "#learn-0-figure .main-svg",
    "/numbers?": ".number",
}


def switch_theme(page, to):
    page.locator("#toggle-theme").click()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", to)
    settle(page)


@pytest.mark.parametrize("tag", LANGUAGES)
@pytest.mark.parametrize("path", PAGES)
def test_every_page_fits_in_its_language_and_axe_finds_nothing(page, path, tag):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{path}theme=light&lang={tag}")
    expect(page.locator(PAGES[path]).first).to_be_attached()
    settle(page)
    expect(page.locator("html")).to_have_attribute("lang", tag)
    axe(page)
    assert page.evaluate(CUT_OFF) == []
    switch_theme(page, "dark")
    axe(page, colours=True)
    for width in (400, 360):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("() => document.documentElement.scrollWidth <= window.innerWidth")
        assert page.evaluate(CUT_OFF) == [], width
    if tag == "ko":
        axe(page)


def conflict(degree, excess, line):
    where = clauses(_("line {n}", n=line), degree_name(degree))
    return _("{wavefronts}, all on {where}", wavefronts=count(excess, "excess wavefront"), where=where)


def now(page, position, warp, step, wavefronts):
    cost = _("{lanes}, {cost}", lanes=count(32, "lane"), cost=wavefronts)
    said = "{access} by warp {warp}, step {step}: {cost}"
    access = operation_name("load" if step else "store")
    request = _(said, access=access, warp=warp, step=step, cost=cost)
    whole = _("{position} of {requests}: {request}", position=position, requests=96, request=request)
    expect(page.locator("#position-text")).to_have_text(whole)


def button(page, text):
    return page.get_by_role("button", name=text, exact=True)


def visit(page, name):
    page.get_by_role("navigation", name=_("Pages"), exact=True).get_by_role("link", name=name, exact=True).click()


@pytest.mark.parametrize("tag", SPOKEN)
def test_a_walk_through_all_of_it_in_the_language_of_the_browser(page, tag):
    """Counts of square.py are those of the H200 (tests/data/h200_counters.csv)."""
    with speaking(tag):
        page.goto("/")
        headline(page, _("Shared memory, seen"))
        page.locator('.card-kernels a[href="/kernel?file=square&kernel=set_row_read_col_pad"]').click()
        smooth = _("No bank conflict: {wavefronts}, as few as possible", wavefronts=count(64, "wavefront"))
        headline(page, smooth)

        knob(page, "IPAD", 0)
        headline(page, conflict(32, 992, 80))
        button(page, _("Reset")).click()
        headline(page, smooth)

        button(page, _("First request")).click()
        now(page, 1, 0, 0, count(1, "wavefront"))
        button(page, _("Next request")).click()
        now(page, 2, 1, 0, count(1, "wavefront"))
        site = page.get_by_role("button", name=f"tile[tx, ty] {access_name('shared', 'load')}")
        site.click()
        expect(site).to_have_attribute("aria-pressed", "true")
        now(page, 34, 1, 1, count(1, "wavefront"))

        kernels = page.get_by_role("navigation", name=_("Kernels of this file"))
        kernels.get_by_role("link", name=_("Compare"), exact=True).click()
        expect(page.get_by_role("heading", name=_("Does it matter?"))).to_be_visible()
        expect(page.get_by_label(_("Launches")).first).to_be_visible()

        visit(page, _("Layouts"))
        button(page, _("Compare with another")).click()
        second = page.get_by_role("region", name=_("Set-up {side}", side="B"))
        second.get_by_label(_("Pad"), exact=True).fill("1")
        expect(page.get_by_role("heading", level=1)).to_contain_text(count(1056, "wavefront"))
        expect(page.get_by_role("heading", level=1)).to_contain_text(count(64, "wavefront"))
        page.get_by_role("link", name=_("The same access on every GPU")).click()
        expect(page.get_by_role("table", name=_("One access on every GPU"))).to_be_visible()
        visit(page, _("GPUs"))
        expect(page.get_by_role("table", name=_("One access on every GPU"))).to_be_visible()

        visit(page, _("Editor"))
        expect(page.locator("#editor-status")).to_contain_text(count(1, "launch"))
        page.get_by_role("textbox", name=_("Text of the kernel file")).fill(SHORT)
        button(page, _("Run")).click()
        expect(page.locator("#editor-status")).to_contain_text(count(1, "launch"))
        headline(page, conflict(2, 1, 11))

        visit(page, _("Learn"))
        page.get_by_role("link", name=_("Down a column")).click()
        page.get_by_label(_("Your answer")).fill("32")
        button(page, _("Check")).click()
        expect(page.locator("#learn-feedback")).to_have_text(_("Right: {answer}.", answer="32"))
        expect(page.locator("#learn-0-figure .main-svg").first).to_be_visible()

        page.get_by_role("link", name=_("What the numbers mean")).click()
        headline(page, _("What the numbers mean, and where they come from"))
    expect(page.locator("html")).to_have_attribute("lang", tag)
    assert "lang" not in query(page)


def speaks(page, tag):
    expect(page.locator("html")).to_have_attribute("lang", tag)
    with speaking(tag):
        headline(page, conflict(8, 56, 53))
        expect(page.get_by_role("navigation", name=_("Pages"), exact=True)).to_be_visible()


@pytest.mark.browser_context_args(locale="ko-KR")
def test_the_menu_changes_the_language_and_nothing_else_of_the_address(page):
    page.goto(f"{TRANSPOSE}&BDIMX=16&theme=dark")
    before = query(page)
    speaks(page, "ko")
    for tag in ("zh-Hans", "en"):
        page.locator(".languages summary").click()
        page.get_by_role("link", name=LANGUAGES[tag], exact=True).click()
        speaks(page, tag)
        assert query(page) == {**before, "lang": [tag]}
        page.reload()
        speaks(page, tag)
    page.get_by_role("link", name="Gallery", exact=True).click()
    headline(page, "Shared memory, seen")
    assert query(page) == {"theme": ["dark"], "lang": ["en"]}
    page.go_back()
    page.go_back()
    speaks(page, "zh-Hans")
