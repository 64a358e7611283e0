"""The recordings that lessons look at: of the gallery's kernels, with the few constants that their knobs offer."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smemviz.engines import run
from smemviz.frontends.program import Program
from smemviz.frontends.reading import read_program
from smemviz.model.playback.request_view import RequestView, playback_order
from smemviz.paths import kernels_dir, recording_for
from smemviz.recordings.data import Launch
from smemviz.recordings.file import load
from smemviz.recordings.recording import Recording

_running = threading.Lock()


class RecordedAccess(NamedTuple):
    """One site of a launch in a recording, and the first request it makes in the first block."""

    recording: Recording
    launch: Launch
    site: int
    request: RequestView

    @property
    def row(self) -> int:
        """The row of the request."""
        assert self.request.row is not None
        return self.request.row

    @property
    def addresses(self) -> NDArray[np.int64]:
        """The byte addresses of the lanes, (32,)."""
        addresses: NDArray[np.int64] = self.launch.requests.addresses[self.row]
        return addresses


def recorded(file: str, constants: Mapping[str, int] | None = None, kernels: tuple[str, ...] = ()) -> Recording:
    """Return a recording of a gallery file: the GPU's where it has these constants, else a lockstep run of kernels."""
    return _recorded(file, tuple((constants or {}).items()), kernels)


def recorded_access(
    recording: Recording, kernel: str, op: str, space: str, number: int = 0, *, warp: int | None = None, turn: int = 0
) -> RecordedAccess:
    """Return the ``number``-th site of a launch that does ``op`` in a ``space``, at a request of its first block.

    That is the first request there, or with ``warp`` that warp's; ``turn`` counts them from 0, or back from -1.
    """
    launch = recording[kernel]
    sites = [i for i, site in enumerate(launch.sites) if (site.op, site.space) == (op, space)]
    rows = playback_order(launch, 0)
    here = launch.requests.site[rows] == sites[number]
    if warp is not None:
        here &= launch.requests.warp[rows] == warp
    return RecordedAccess(
        recording, launch, sites[number], RequestView(launch, 0, rows, int(np.flatnonzero(here)[turn]))
    )


def writers(launch: Launch) -> dict[int, tuple[int, int]]:
    """Return the warp and the lane of the first block that stored last to each address of shared memory."""
    by_element: dict[int, tuple[int, int]] = {}
    for row in playback_order(launch, 0).tolist():
        site = launch.sites[launch.requests.site[row]]
        if (site.op, site.space) == ("store", "shared"):
            warp = int(launch.requests.warp[row])
            by_element |= {int(at): (warp, lane) for lane, at in enumerate(launch.requests.addresses[row]) if at >= 0}
    return by_element


@lru_cache(maxsize=64)
def _recorded(file: str, constants: tuple[tuple[str, int], ...], kernels: tuple[str, ...]) -> Recording:
    with _running:
        program, known = _known(file)
        chosen = program.with_constants(dict(constants))
        if known is not None and known.sha256 == chosen.sha256 and dict(known.constants) == chosen.values:
            return known
        return run(chosen, engine="lockstep", kernels=kernels)


@lru_cache
def _known(file: str) -> tuple[Program, Recording | None]:
    path = kernels_dir() / f"{file}.py"
    beside = recording_for(path)
    return read_program(path), load(beside) if beside else None
