"""Accesses by their place in the source, by which one is found again when constants or the kernel change."""

from __future__ import annotations

import re
from collections.abc import Callable

from smemviz.recordings.data import Launch, Site
from smemviz.recordings.findings import Finding
from smemviz.recordings.recording import Recording

_PLACE = re.compile(r"(\d{1,7}):(\d{1,7})(?:\.(\d{1,7}))?")


def place_of(launch: Launch, site: int) -> str:
    """Write where a site stands: ``line:column``, with a number behind where a function is reached in several ways."""
    here = _place(launch.sites[site])
    nth = sum(_place(other) == here for other in launch.sites[:site])
    return f"{here[0]}:{here[1]}" + (f".{nth}" if nth else "")


def is_place(text: str) -> bool:
    """Tell whether a text is what ``place_of`` writes."""
    return bool(_PLACE.fullmatch(text))


def site_at(recording: Recording, launch: Launch, text: str) -> int | None:
    """Find a place in a launch; in another kernel than its own it is the access written alike, or to the same array.

    None where there is none, or the text is no place.
    """
    match = _PLACE.fullmatch(text)
    if match is None:
        return None
    place, nth = (int(match[1]), int(match[2])), int(match[3] or 0)
    own = [i for i, site in enumerate(launch.sites) if _place(site) == place]
    if own:
        return own[min(nth, len(own) - 1)]
    meant = next((site for launch in recording.launches for site in launch.sites if _place(site) == place), None)
    if meant is None:
        return None
    keys: tuple[Callable[[Site], object], ...] = (
        lambda site: (site.op, site.space, site.source),
        lambda site: (site.op, site.space, site.array),
        lambda site: (site.op, site.space),
    )
    return next((i for key in keys for i, site in enumerate(launch.sites) if key(site) == key(meant)), None)


def access_of(recording: Recording, launch: Launch, finding: Finding) -> tuple[int, int, int | None] | None:
    """Return site, block and warp of the access that a mistake was met in; None for one that is no access.

    Of two threads in a race the last named is the one in the finding's line.
    """
    file = recording.file_of_finding(finding)
    here = [
        i
        for i, site in enumerate(launch.sites)
        if site.line == finding.line and recording.file_of(launch, site) == file
    ]
    if not here:
        return None
    # Without facts the array's name stands first in what is said of an element.
    element = finding.facts.get("array") or finding.facts.get("element") or finding.message
    array = str(element).partition("[")[0]
    of_array = [i for i in here if launch.sites[i].array == array] or here
    column = finding.facts.get("column")
    site = next((i for i in of_array if launch.sites[i].column == column), of_array[0])
    across, down, _deep = launch.grid
    x, y, z = finding.block
    warp = None
    if finding.threads:
        i, j, k = finding.threads[-1]
        warp = (i + launch.block[0] * (j + launch.block[1] * k)) // 32
    return site, x + across * (y + down * z), warp


def _place(site: Site) -> tuple[int, int]:
    return site.line, site.column
