"""Why the present site costs what it costs, and what would fix it."""

import numpy as np
from dash import html
from dash.development.base_component import Component

from smemviz.app import ids
from smemviz.app.addresses import GPUS, LEARN
from smemviz.app.components.launches import Filling, Query, access_query
from smemviz.app.components.rich import rich
from smemviz.app.components.written_html import Written
from smemviz.app.library import Library
from smemviz.app.pages.kernel.explaining import explaining_of
from smemviz.app.pages.kernel.look_view import looked_at
from smemviz.app.pages.kernel.run_view import also_at, met_at
from smemviz.i18n import _
from smemviz.lessons.course import lesson_of
from smemviz.model.hardware.operations import predictable
from smemviz.model.playback import request_view
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import Finding
from smemviz.wording.explanations import Explained, Explaining
from smemviz.wording.first_look import first_mistake, left_alone, reason_and_remedy
from smemviz.wording.labels import capital, finding_name
from smemviz.wording.patterns import name

WHY_PROPERTIES = (f"{ids.WHY}.html",)


def why_panel() -> Component:
    """Lay out where it is said, below the headline."""
    return Written(html.Div(id=ids.WHY, className="why"))


def view_why(library: Library, run_query: Query, look_query: Query) -> Filling:
    """Explain each site that has requests, the one that is looked at shown; nothing where the run is refused.

    A mistake in the launch takes their place, with its remedy: what its layout costs matters once it is right.
    ``assets/playback.js`` shows the others as one steps.
    """
    view = looked_at(library, run_query, look_query)
    if view is None:
        return {}
    launch, now = view.launch, view.now
    mistake = first_mistake(view.shown_run.recording, launch)
    if mistake:
        met = met_at(view.shown_run, launch, mistake, run_query)
        also = also_at(view.shown_run, launch, mistake, run_query)
        return {f"{ids.WHY}.html": [html.Div(_of_mistake(mistake, launch, met, also), className="why-mistake")]}
    explaining = explaining_of(view.shown_run.recording, launch, view.hardware)
    site = int(launch.requests.site[now.row]) if now.row is not None else None
    other_query = {
        name: value for name, value in look_query.items() if name not in ("site", "block", "warp", "step", "at")
    }
    sites = [
        html.Div(
            _paragraphs(
                _name(explaining, i),
                explaining.site(i),
                _lesson(launch, i, explaining.site(i)),
                _on_every_gpu(run_query, other_query, launch, i, now.block),
            ),
            hidden=i != site,
            **{"data-site": str(i)},
        )
        for i in np.unique(launch.requests.site[now.rows]).tolist()
    ]
    return {f"{ids.WHY}.html": sites}


def _of_mistake(mistake: Finding, launch: Launch, met: list[Component | str], also: list[Component]) -> list[Component]:
    """Say why a mistake is one, what is ``also`` wrong there, how to fix it, where it was ``met``, what seems right."""
    reason, remedy = reason_and_remedy(mistake)
    lines = [(capital(_("{pattern}.", pattern=finding_name(mistake.kind))), reason), (_("Fix."), remedy)]
    reason_line, *remedy_line = (
        html.P(rich("{before} {after}", before=html.Strong(head), after=text)) for head, text in lines if text
    )
    return [
        reason_line,
        *also,
        *remedy_line,
        *(html.P(text, className="note") for text in [met, left_alone(launch)] if text),
    ]


def _name(explaining: Explaining, i: int) -> str:
    """Name what is wrong at a site, its costliest pattern; "" where none of them costs anything."""
    site, explained = explaining.launch.sites[i], explaining.site(i)
    counted = site.is_shared and predictable(site.op, site.dtype, explaining.hardware.cc)
    if counted and explained.patterns and not explained.fix:
        return ""
    return name(explained.patterns[0][0]) if explained.patterns else explained.pattern


def _paragraphs(title: str, explained: Explained, lesson: Component | None, link: Component | None) -> list[Component]:
    """Say in a sentence why the site costs what it costs, and in another what would fix it, with what teaches that."""
    heading = capital(_("{pattern}.", pattern=title)) if title else ""
    lines = [(heading, explained.because), (_("Fix."), explained.fix)]
    paragraphs = [
        html.P(rich("{before} {after}", before=html.Strong(head), after=text) if head else [text])
        for head, text in lines
        if text
    ]
    written = html.Span([capital(_("as written:")), " "], className="as-written")  # while another layout is shown
    paragraphs[0].children = [written, *paragraphs[0].children]
    if lesson is not None:
        paragraphs[-1].children = [*paragraphs[-1].children, " ", lesson]
    if link is not None:
        paragraphs[-1].children = [*paragraphs[-1].children, " · " if lesson is not None else " ", link]
    return paragraphs


def _lesson(launch: Launch, site: int, explained: Explained) -> Component | None:
    """Link the lesson on the way in which a site is wasteful, None where none teaches its fix."""
    of_sectors = launch.sites[site].space == "global"
    if not explained.fix or not (of_sectors or explained.pad or explained.swizzle):
        return None
    lesson = lesson_of("sectors" if of_sectors else "padding")
    return html.A(_("Lesson: {title}", title=_(lesson.title)), href=f"{LEARN}/{lesson.slug}")


def _on_every_gpu(run: Query, look: Query, launch: Launch, site: int, block: int) -> Component | None:
    """Link to the site's first request on every GPU; global memory has no banks."""
    if launch.sites[site].space == "global":
        return None
    now = request_view(launch, block, site=site)
    requests = launch.requests
    request = {name: str(getattr(requests, name)[now.row]) for name in ("site", "block", "warp", "step")}
    return html.A(_("On every GPU"), href=f"{GPUS}?{access_query(run, look | request)}", className="on-gpus")
