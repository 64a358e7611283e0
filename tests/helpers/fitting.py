"""What does not fit a screen, and what axe finds."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# What can be operated and is not wholly on the screen, and whose text is cut off; regions that scroll may hold it.
CUT_OFF = """() => {
  const width = document.documentElement.clientWidth;
  const held = ".scroller, .kernels, .skip, .visually-hidden, .cm-editor, .save-forms";
  const seen = (one) => one.checkVisibility({ checkVisibilityCSS: true, contentVisibilityAuto: true });
  const operated = [...document.querySelectorAll("a, button, input, select, textarea, summary, label, [role=slider]")]
    .filter((one) => seen(one) && !one.closest(held));
  const beyond = operated.filter((one) => {
    const box = one.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && (box.left < -1 || box.right > width + 1);
  });
  const clipped = operated.filter((one) =>
    getComputedStyle(one).display !== "inline" && one.scrollWidth > one.clientWidth + 1);
  return [...beyond, ...clipped].map((one) => one.outerHTML.slice(0, 200));
}"""


def axe(page: Page, *, colours: bool = False) -> None:
    """Fail on whatever axe finds; ``colours`` looks at those alone, as all that a theme changes."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if colours:
        options["runOnly"] = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
    found = Axe().run(page, options=options)
    assert found.response["violations"] == [], found.generate_report()


def fits(page: Page, width: int) -> None:
    """Fail on whatever axe finds, and on what sticks out of a page of this width."""
    axe(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
