"""How many requests of a launch have each degree of conflict."""

from dataclasses import dataclass

import numpy as np

from smemviz.i18n import _
from smemviz.model.counting.costs import cached
from smemviz.model.counting.summary import counted_totals, summarize
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.recordings.data import Launch
from smemviz.wording.labels import count, degree_name, sentences


@dataclass(frozen=True)
class Degrees:
    """Requests to shared memory by degree, those that occur in order: 1 is no conflict.

    ``uncounted`` requests are left out, for their wavefronts are not counted; ``complete`` is whether the others are
    those of the whole grid, and not only the logged ones.
    """

    requests: dict[int, int]
    uncounted: int
    complete: bool

    @property
    def free(self) -> int:
        """The requests without a conflict."""
        return self.requests.get(1, 0)

    @property
    def conflicted(self) -> int:
        """The requests with one."""
        return sum(self.requests.values()) - self.free


@cached
def degrees_of(launch: Launch, hardware: Hardware = H200) -> Degrees:
    """Count the requests of each degree: of the whole grid where it was counted, else of what was logged.

    Raises:
        InputError: for an unknown compute capability or bank mode.
    """
    rows = summarize(launch, hardware)
    shared = launch.sites_in("shared")
    degrees = counted_totals(launch, hardware).degrees
    counted = degrees[[i for i in shared if rows[i].wavefronts is not None]].sum(axis=0)
    return Degrees(
        {int(degree): int(counted[degree]) for degree in np.flatnonzero(counted) if degree},
        sum(rows[i].requests for i in shared if rows[i].wavefronts is None),
        all(rows[i].complete for i in shared),
    )


def described_degrees(degrees: Degrees) -> str:
    """Say how many requests are in conflict, of which degree the worst are, and which requests that is of."""
    if not degrees.requests:
        return _("No request of this launch has a degree.")
    requests = count(sum(degrees.requests.values()), "request")
    if not degrees.conflicted:
        sentence = _("{requests} to shared memory, none with a bank conflict.", requests=requests)
    else:
        sentence = _(
            "{requests} to shared memory, {conflicted:,} of them with a bank conflict, at most {degree}.",
            requests=requests,
            conflicted=degrees.conflicted,
            degree=degree_name(max(degrees.requests)),
        )
    return sentences(
        sentence,
        _("{requests} are left out: their wavefronts are not counted.", requests=count(degrees.uncounted, "request"))
        if degrees.uncounted
        else "",
        "" if degrees.complete else _("Only requests that were logged are counted."),
    )
