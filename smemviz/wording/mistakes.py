"""The mistake that is said first of a launch: why it is one, what mends it, and what it leaves in its arrays."""

from __future__ import annotations

import math

import numpy as np

from smemviz.i18n import _
from smemviz.messages import say
from smemviz.model.counting.element_counts import element_counts
from smemviz.model.hardware.operations import Effect
from smemviz.recordings.data import ArrayInfo, Launch
from smemviz.recordings.findings import MAIN_FAILED, Finding
from smemviz.recordings.recording import Recording
from smemviz.wording.grammar import sentences
from smemviz.wording.sentences import findings_of


def first_mistake(recording: Recording, launch: Launch) -> Finding | None:
    """Return the mistake in a launch that is mended first, None where there is none."""
    found = (f for f in findings_of(recording, launch) if f.kind != MAIN_FAILED and not f.harmless)
    return next(found, None)


def reason_and_remedy(mistake: Finding) -> tuple[str, str]:
    """Say what is wrong, and what mends it, "" where nothing is said of that; in English where no other is known."""
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
