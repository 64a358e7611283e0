"""Launches of a run, as every page names, links and marks them."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from smemviz.app.library import ShownRun
from smemviz.app.state import LookState, RunState
from smemviz.i18n import _
from smemviz.model.counting.diff import times_made
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback import RequestView, request_view, worst_request
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import MAIN_FAILED
from smemviz.recordings.places import access_of, place_of, site_at
from smemviz.recordings.recording import Recording
from smemviz.wording.labels import finding_name, launch_name
from smemviz.wording.sentences import degree_of, facts, findings_of

Query = dict[str, str]

Filling = dict[str, Any]  # "id.property" of what is on the page -> its value
SEVERAL = "\n"  # between values, where a URL says their name once more


def hardware_of(shown_run: ShownRun, state: RunState) -> Hardware:
    """Return the hardware that counts: what the URL says, else what the recording was made on, else the H200."""
    return state.hardware or Hardware.of(shown_run.recording)


def launch_badge(shown_run: ShownRun, launch: Launch, hardware: Hardware) -> Component:
    """Show beside a launch's name the first mistake met in it, else its worst degree."""
    findings = findings_of(shown_run.recording, launch)
    mistakes = [finding for finding in findings if finding.kind != MAIN_FAILED and not finding.harmless]
    total = facts(launch, hardware)
    text = finding_name(mistakes[0].kind) if mistakes else degree_of(total)
    return html.Span(text, className="degree conflict" if mistakes or total.max_degree > 1 else "degree")


def refused_badge() -> Component:
    """Show that a kernel's launch was refused."""
    return html.Span(_("refused"), className="degree conflict")


def group_name(group: Sequence[tuple[Launch, int]]) -> str:
    """Name a group of launches by the first of them, with how many they are."""
    name = launch_name(*group[0])
    times = times_made(launch for launch, _ in group)
    return name if times == 1 else f"{name} \N{MULTIPLICATION SIGN} {times:,}"


def worst_of(shown_run: ShownRun, launches: Sequence[tuple[Launch, int]], hardware: Hardware) -> tuple[Launch, int]:
    """Return the first launch with a mistake, or else with the most excess, and its number among its kernel's.

    Where there is no excess, launches that use shared memory come before those that do not.
    """
    mistaken = {finding.launch for finding in shown_run.recording.mistakes}
    wrong = [launch for i, launch in enumerate(shown_run.recording.launches) if i in mistaken]

    def worth(pair: tuple[Launch, int]) -> tuple[bool, int, bool]:
        total = facts(pair[0], hardware)
        return any(pair[0] is launch for launch in wrong), total.excess, total.requests > 0

    return max(launches, key=worth)


def launch_query(launch: Launch, nth: int) -> Query:
    """Return what names a launch in a URL."""
    return {"kernel": launch.kernel} | ({"launch": str(nth)} if nth else {})


def request_view_of(recording: Recording, launch: Launch, hardware: Hardware, look: LookState) -> RequestView:
    """Return the request that is looked at: the one named, else a mistake, else the one that wastes the most."""
    return _looked_at(recording, launch, hardware, look).spelled(recording)


def _looked_at(recording: Recording, launch: Launch, hardware: Hardware, look: LookState) -> RequestView:
    site = look.site if look.site is not None else site_at(recording, launch, look.at)
    if not look.site is look.warp is look.step is None:
        return request_view(launch, look.block, look.warp, look.step, site)
    elsewhere = look.site is None and look.at not in (place_of(launch, i) for i in range(len(launch.sites)))
    if elsewhere and look.block is None:
        accesses = (access_of(recording, launch, finding) for finding in findings_of(recording, launch))
        access = next(filter(None, accesses), None)
        if access is not None:
            at, block, warp = access
            return request_view(launch, block, warp, None, at)
    return worst_request(launch, hardware, look.block, site)


def pick_of(file: str, kernel: str, number: int) -> str:
    """Write a pick as it stands in the URL; the number counts the launches of one kernel from 0."""
    return f"{file}:{kernel}" + (f":{number}" if number else "")


def query_of(state: Mapping[str, str]) -> str:
    """Write what stands in a URL again; lines of one value were said one after the other under the same name."""
    return urlencode([(name, value) for name, joined in state.items() for value in joined.split(SEVERAL)])


def access_query(run: Mapping[str, str], look: Mapping[str, str]) -> str:
    """Write the query under which this page shows a request of a kernel."""
    return urlencode({**run, **{name: value for name, value in look.items() if name != "theme"}})
