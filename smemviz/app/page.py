"""What a page of the dashboard is: a path, a title, and what lays it out and connects it."""

from collections.abc import Callable
from dataclasses import dataclass

from dash import Dash
from dash.development.base_component import Component

from smemviz.app.components.launches import Query
from smemviz.app.library import Library
from smemviz.app.tasks.jobs import Job
from smemviz.app.tasks.stopwatch import Stopwatch
from smemviz.app.texts import Texts
from smemviz.i18n import _


@dataclass(frozen=True)
class Services:
    """What the pages of one app share: its files, its one measurement at a time, and the editor's texts if it has one.

    ``follow`` keeps a kernel's page up with its file.
    """

    library: Library
    job: Job
    stopwatch: Stopwatch
    texts: Texts | None = None
    follow: bool = False


@dataclass(frozen=True)
class Address:
    """What is asked for: a path, what is run, and what of it is looked at."""

    path: str
    run: Query
    look: Query


@dataclass(frozen=True)
class Page:
    """A page of the dashboard.

    ``title`` is what the browser's tab says until the page says more, and ``link`` what the header calls it; both are
    messages. A page without a link is found under ``header``, the path of another. With ``below`` a page has the
    addresses below its path as well; that tells which of them show something. One ``of_editor`` is there where kernels
    can be written.
    """

    path: str
    title: str
    lay_out: Callable[[Services, Address], list[Component] | Component]
    register: Callable[[Dash, Services], None] = lambda app, services: None
    link: str = ""
    header: str = ""
    below: Callable[[str], bool] | None = None
    of_editor: bool = False

    def has(self, path: str) -> bool:
        """Tell whether an address is of this page."""
        return path == self.path or (self.below is not None and path.startswith(f"{self.path}/"))

    def shows(self, path: str) -> bool:
        """Tell whether there is something at an address of this page."""
        return path == self.path or (self.below is not None and self.below(path))


def titled(title: str) -> str:
    """Return the title of a document, from a message that names its page; none names the gallery."""
    return f"{_(title)} - smemviz" if title else "smemviz"
