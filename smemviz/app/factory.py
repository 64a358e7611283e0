"""The Dash app: its frame, its pages by address, and the scripts that keep its state in the URL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component
from flask import Flask, Response, after_this_request, request

from smemviz.app import browser, ids, working
from smemviz.app.addresses import GALLERY
from smemviz.app.cache import Answers
from smemviz.app.components.frames import page_title
from smemviz.app.components.launches import Query
from smemviz.app.components.rich import translated
from smemviz.app.components.written_html import marked, marks_english, markup
from smemviz.app.frame import above, below, drawn
from smemviz.app.library import Library, Started
from smemviz.app.page import Address, Services
from smemviz.app.router import NOWHERE, page_at, pages, title_at
from smemviz.app.server.callers import refuse_strangers
from smemviz.app.server.payload import refuse_garbage
from smemviz.app.server.requests import (
    Doorway,
    Shares,
    add_headers,
    answer_busy,
    answer_faults,
    lead_below,
    script_hash,
)
from smemviz.app.server.settings import Settings
from smemviz.app.tasks.jobs import Job
from smemviz.app.tasks.stopwatch import Stopwatch
from smemviz.app.texts import Texts
from smemviz.engines.sandbox import SandboxLimits, Supervisor
from smemviz.engines.sandbox.sharing import Results, Turns
from smemviz.errors import SmemvizError
from smemviz.i18n import _, best_of, speak, spoken
from smemviz.paths import assets_dir, every_gallery
from smemviz.progress import LINES
from smemviz.reports.html.page import language_script, messages_element

MOST_BYTES = 4 << 20  # bytes; pages send texts of the editor and the state of their controls


class _App(Dash):  # type: ignore[misc]
    """A dashboard whose frame stands in the document itself, in the language that was asked for."""

    library: Library
    editor = True
    prefix = ""  # of every path, as browsers see it

    def callback(self, *dependencies: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
        """Connect a function as Dash does; English among another language is marked in what it returns."""
        outputs = tuple(dependency for dependency in dependencies if isinstance(dependency, list | tuple | Output))
        connect = super().callback(*dependencies, **options)
        return lambda function: connect(marks_english(outputs, function))

    def interpolate_index(self, **kwargs: Any) -> str:
        page_asked = page_at(request.path, editor=self.editor)
        if page_asked is None or not page_asked.shows(request.path):
            after_this_request(_not_found)
        title = title_at(request.path, editor=self.editor)
        scripts = kwargs["scripts"]
        if request.path == GALLERY:
            scripts = scripts.replace("<script src=", "<script data-src=")
        page: str = super().interpolate_index(**kwargs | {"title": escape(title), "scripts": scripts})
        parts = {
            "language": spoken(),
            "icon": f'<link rel="icon" href="data:image/svg+xml,{quote(_ICON)}">',
            "theme": f"<script>{_THEME_SCRIPT}</script>",
            "messages": f"{messages_element()}\n<script>{language_script()}</script>",
            "names": browser.names_element(self, editor=self.editor, prefix=self.prefix),
            "above": markup(marked(above(request.path, self.library, editor=self.editor))),
            "below": markup(marked(below())),
        }
        for name, text in parts.items():
            page = page.replace(f"{{{{{name}}}}}", text)
        return page


# The theme is set before anything is painted, so that a dark page never flashes white.
_THEME_SCRIPT = """
(function () {
  var asked = new URLSearchParams(location.search).get("theme");
  var dark = asked ? asked === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();
"""
# Starts Dash. Where the document shows content of its own, scripts are asked for once that has been drawn, or soon.
_START = """
(function () {
  var later = document.querySelectorAll("script[data-src]"), begun = !later.length;
  function start() { window.renderer = new DashRenderer(); }
  function begin() {
    if (begun) return;
    begun = true;
    later.forEach(function (one, i) {
      var script = document.createElement("script");
      script.src = one.getAttribute("data-src");
      script.async = false;
      if (i === later.length - 1) script.onload = start;
      document.head.append(script);
    });
  }
  if (begun) return start();
  requestAnimationFrame(function () { setTimeout(begin); });
  setTimeout(begin, 300);
})();
"""
# In the page itself: browsers ask for an icon again whenever the address changes, as it does with every step.
_ICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 20 20'><rect width='20' height='20' rx='5' fill='#bfd7c9'/>"
    "<path d='M5 0h5v20H5z' fill='#ad3600'/></svg>"
)
_INDEX = """<!DOCTYPE html>
<html lang="{{language}}">
<head>
{%metas%}
<title>{%title%}</title>
{{icon}}
{{theme}}
{{messages}}
{{names}}
{%css%}
</head>
<body>
{{above}}
{%app_entry%}
{{below}}
{%config%}
{%scripts%}
{%renderer%}
</body>
</html>"""


def create_app(
    paths: Sequence[Path] = (),
    *,
    editor: bool = True,
    follow: bool = False,
    local: bool = True,
    names: Sequence[str] = (),
    sandbox: Supervisor | None = None,
    shared: Path | None = None,
    prefix: str = "",
    started: Started | None = None,
) -> Dash:
    """Build the dashboard on kernel files and recordings, or on the gallery when none are named.

    With ``follow`` a kernel's page is updated whenever its file is saved. ``editor`` adds the page on which kernels are
    written; its texts run in lockstep, in processes of their own. ``local`` is for a server that only this machine
    reaches: for others nothing is measured, no revision read, and kernels run within the editor's limits. ``names`` are
    further host names that it answers to, besides ``localhost`` and IP addresses; other names get no answer.
    ``sandbox`` is what runs texts, and ``shared`` a folder in which the processes of one server find each other's.
    ``prefix`` is a path below which a proxy shows all of it. ``started`` says how programs are compiled and started.

    Example:
        import smemviz
        app = smemviz.create_app()
        server = app.server  # for gunicorn and its like; app.run() serves it on this machine

    Raises:
        InputError: for a file that is neither a kernel file nor a recording.
    """
    sandbox = sandbox or Supervisor()
    texts = Texts(sandbox, shared) if editor else None
    job = Job(environment=LINES, allowed=local)  # one GPU: one measurement at a time
    library = Library(paths or every_gallery(), texts, local=local, sandbox=sandbox, started=started)
    services = Services(library, job, Stopwatch(job), texts, follow)
    app = _App(
        __name__,
        title="smemviz",
        update_title="",
        assets_folder=str(assets_dir()),
        assets_path_ignore=["codemirror"],  # loaded by the editor page, when there is one
        assets_ignore=r"^language\.js$",  # stands in the page itself
        index_string=_INDEX,
        serve_locally=True,
        requests_pathname_prefix=f"{prefix}/",
        suppress_callback_exceptions=True,
        add_log_handler=False,
        enable_mcp=False,
        meta_tags=[
            {"name": "viewport", "content": "width=device-width, initial-scale=1"},
            {"name": "description", "content": "What a CUDA kernel really does to shared memory."},
        ],
    )
    app.renderer = _START
    app.server.config["MAX_CONTENT_LENGTH"] = MOST_BYTES
    refuse_strangers(app.server, names)
    refuse_garbage(app)
    answer_busy(app.server)
    answer_faults(app.server)
    app.server.before_request(_speak)
    app.library = library
    app.editor = editor
    app.prefix = prefix
    app.layout = lambda: _deaf(marked(drawn()))
    browser.add_callbacks(app)
    if local:
        working.add_callbacks(app, library)
    for page in pages(editor=editor):
        page.register(app, services)

    @app.callback(Output(ids.PAGE, "children"), Input("place", "data"), State("run", "data"), State("look", "data"))
    def route(place: Query, run: Query, look: Query) -> list[Component] | Component:
        library.again()
        return _deaf(_page(services, Address(place["path"], run, look)))

    if not local:
        Answers(app.server, library.paths)
    if prefix:
        lead_below(app.server, prefix)
    add_headers(app.server, [*app.csp_hashes(), *map(script_hash, (_THEME_SCRIPT, language_script()))])
    return app


def create_server(settings: Settings) -> Flask:
    """Build the dashboard for others, as one process of a server that may have several."""
    shared = Path(settings.shared) if settings.shared else None
    limits = SandboxLimits()
    limits = replace(limits, memory_bytes=min(limits.memory_bytes, int(settings.memory_gb * 1e9 / settings.runs)))
    results = Results(shared / "results") if shared else None
    sandbox = Supervisor(limits, Turns(settings.runs, shared and shared / "turns"), results)
    app = create_app(
        settings.files,
        editor=settings.editor,
        local=False,
        names=settings.names,
        sandbox=sandbox,
        shared=shared and shared / "texts",
        prefix=settings.prefix,
    )
    server: Flask = app.server
    # Dash learns which scripts it has from the first request, and says 404 to those that come meanwhile.
    server.test_client().get("/", headers={"Host": "localhost"})
    shares = Shares(settings.requests)
    doorway = Doorway(server.wsgi_app, shares, log=settings.log, prefix=settings.prefix)
    server.wsgi_app = doorway  # type: ignore[assignment, method-assign]
    return server


def _not_found(response: Response) -> Response:
    """Say to programs what the page says to people."""
    response.status_code = 404
    return response


def _speak() -> None:
    """Answer a request in the language of its ``?lang=``, else in the first of the browser's that is spoken here."""
    language = request.args.get("lang")
    speak(best_of([language] if language else request.accept_languages.values()))


def _page(services: Services, address: Address) -> list[Component] | Component:
    """Return the page for an address, or say why there is none."""
    page = page_at(address.path, editor=services.texts is not None)
    if page is None:
        return _nothing(_("There is no such page."))
    try:
        return page.lay_out(services, address)
    except SmemvizError as error:
        return _nothing(translated(str(error)))


def _deaf(page: Any) -> Any:
    """Return what is shown with none but buttons telling of clicks, as Dash has all that have a name do."""
    for part in page if isinstance(page, list) else [page]:
        for component in (part, *part._traverse()):
            if isinstance(component, html.Div | html.Section | html.Main | html.Header | html.Details | html.P):
                component.disable_n_clicks = True
    return page


def _nothing(text: str | Component) -> list[Component]:
    sentence = html.P(text, className="origin")
    return [page_title(_(NOWHERE), sentence), dcc.Link(_("Back to the gallery"), href=GALLERY, className="back")]
