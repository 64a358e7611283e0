"""The pages of the dashboard, in the order of the header, and which of them an address is of."""

from smemviz.app.page import Page, titled
from smemviz.app.pages import editor_page, gallery_page, gpus_page, numbers_page
from smemviz.app.pages.compare import compare_page
from smemviz.app.pages.kernel import kernel_callbacks
from smemviz.app.pages.layouts import lab_view, swizzle_page
from smemviz.app.pages.learn import learn_view
from smemviz.app.pages.matmul import matmul_page
from smemviz.i18n import N_

_PAGES = (
    gallery_page.PAGE,
    kernel_callbacks.PAGE,
    learn_view.PAGE,
    compare_page.PAGE,
    matmul_page.PAGE,
    lab_view.PAGE,
    swizzle_page.PAGE,
    gpus_page.PAGE,
    editor_page.PAGE,
    numbers_page.PAGE,
)
NOWHERE = N_("Not here")


def pages(*, editor: bool) -> tuple[Page, ...]:
    """Return the pages of an app, with or without the editor."""
    return tuple(page for page in _PAGES if editor or not page.of_editor)


def page_at(path: str, *, editor: bool) -> Page | None:
    """Return the page that an address is of, None where there is none."""
    return next((page for page in pages(editor=editor) if page.has(path)), None)


def title_at(path: str, *, editor: bool) -> str:
    """Return the title of the document at an address."""
    page = page_at(path, editor=editor)
    return titled(page.title if page else NOWHERE)
