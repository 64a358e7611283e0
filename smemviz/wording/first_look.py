"""What to look at first: what a run recorded and its worst line, or the mistake to fix first."""

import math
from collections import Counter

import numpy as np

from smemviz.i18n import _, ngettext
from smemviz.messages import say
from smemviz.model.counting.global_traffic import element_counts
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.operations import Effect
from smemviz.recordings.data import ArrayInfo, Launch
from smemviz.recordings.findings import LAUNCH_REFUSED, MAIN_FAILED, Finding
from smemviz.recordings.recording import Recording
from smemviz.wording.labels import sentences
from smemviz.wording.sentences import findings_of, folded


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


def first_mistake(recording: Recording, launch: Launch) -> Finding | None:
    """Return the mistake in a launch to fix first, None where there is none."""
    found = (f for f in findings_of(recording, launch) if f.kind != MAIN_FAILED and not f.harmless)
    return next(found, None)


def alike_at(recording: Recording, launch: Launch, mistake: Finding | None) -> list[Finding]:
    """Return what else is wrong in the line of a mistake in the same way, such as an operand on its other side."""
    if mistake is None:
        return []
    key = (mistake.kind, mistake.line, mistake.parts[1])
    told = (finding for finding, _more in folded(findings_of(recording, launch)) if finding is not mistake)
    return [finding for finding in told if (finding.kind, finding.line, finding.parts[1]) == key]


def reason_and_remedy(mistake: Finding) -> tuple[str, str]:
    """Say what is wrong and how to fix it, "" where nothing is said of that; in English where no other is known."""
    reason, remedy = (say(part) or part for part in mistake.parts)
    return (_("{reason}.", reason=reason), remedy) if remedy else (reason, "")


def left_alone(launch: Launch) -> str:
    """Say which arrays a launch stores to and yet leaves largely as they were, "" where there are none.

    A result that was in them before seems to be the launch's own.
    """
    if launch.missing:
        return ""
    said = []
    for array in launch.arrays:
        stored, size = _stored(launch, array) if array.space == "global" else 0, math.prod(array.shape)
        if 0 < stored < size:
            said.append(
                _(
                    "It stores {n:,} of the {size:,} elements of {array}, and the others keep what was there: where an "
                    "earlier launch left the right result, this one seems right. Fill {array} with something else "
                    "first, such as NaN.",
                    n=stored,
                    size=size,
                    array=array.name,
                )
            )
    return sentences(*said)


def _stored(launch: Launch, array: ArrayInfo) -> int:
    kinds: tuple[Effect, Effect] = ("store", "update")
    return len(np.unique(np.concatenate([element_counts(launch, array, kind).element for kind in kinds])))
