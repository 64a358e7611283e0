"""What a run says at its end: what it recorded, the line to look at first, and how to look."""

from __future__ import annotations

from collections import Counter

from smemviz.i18n import _, ngettext
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.recordings.findings import LAUNCH_REFUSED
from smemviz.recordings.recording import Recording


def closing(recording: Recording, command: str, hardware: Hardware = H200) -> str:
    """Say in one line what was recorded, which line is the worst, and the ``command`` that opens it."""
    return f"{_recorded(recording)} {_worst(recording, hardware)} " + _("Look at it with: {command}", command=command)


def _recorded(recording: Recording) -> str:
    launches, kernels = len(recording.launches), len({launch.kernel for launch in recording.launches})
    of = ngettext("{n:,} kernel", "{n:,} kernels", kernels)
    return ngettext(
        "Recorded {n:,} launch of {kernels}.", "Recorded {n:,} launches of {kernels}.", launches, kernels=of
    )


def _worst(recording: Recording, hardware: Hardware) -> str:
    """Name the line of the first mistake, else the one that loses the most to bank conflicts."""
    for finding in recording.mistakes:
        where = {"line": finding.line, "file": recording.file_of_finding(finding)}
        if finding.kind == LAUNCH_REFUSED:
            return _(
                "Begin with line {line} of {file}: a launch of {kernel} is missing.", kernel=finding.kernel, **where
            )
        return _("Begin with line {line} of {file}, a mistake.", **where)
    excess: Counter[tuple[str, int]] = Counter()
    for launch in recording.launches:
        for site, row in zip(launch.sites, summarize(launch, hardware), strict=True):
            excess[recording.file_of(launch, site), site.line] += row.excess or 0
    (file, line), most = max(excess.items(), key=lambda pair: pair[1], default=(("", 0), 0))
    if not most:
        return _("No line has bank conflicts.")
    return ngettext(
        "Begin with line {line} of {file}, which takes {n:,} wavefront more than it needs.",
        "Begin with line {line} of {file}, which takes {n:,} wavefronts more than it needs.",
        most,
        line=line,
        file=file,
    )
