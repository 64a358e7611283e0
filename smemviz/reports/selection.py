"""Which launch and which request of a recording is meant: what the command line names, each name checked."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import InputError
from smemviz.model.counting.costs import excess_at
from smemviz.model.counting.diff import duplicates
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.playback import RequestView, blocks, playback_order
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording, numbered
from smemviz.wording.sentences import facts


@dataclass(frozen=True)
class Choice:
    """What is asked for; None leaves the choice to the worst. ``launch`` counts the launches of a kernel from 0.

    ``line`` and ``column`` name the sites that begin there, ``step`` is a request's place among those of its warp.
    """

    kernel: str | None = None
    launch: int | None = None
    line: int | None = None
    column: int | None = None
    block: int | None = None
    warp: int | None = None
    step: int | None = None


def one_of_each(recording: Recording) -> list[tuple[Launch, int]]:
    """Return one launch of each group of duplicates, with its number among the launches of its kernel."""
    every = numbered(recording.launches)
    return [every[group[0]] for group in duplicates(recording.launches)]


def launches(recording: Recording, choice: Choice) -> list[tuple[Launch, int]]:
    """Return the launches a kernel's name and a number pick, each with its number; without them one of each alike.

    Raises:
        InputError: when there is none.
    """
    if not recording.launches:
        raise InputError(f"{recording.file}: the recording has no launch; there is nothing to export")
    if choice.kernel is None and choice.launch is None:
        return one_of_each(recording)
    kernels = list(dict.fromkeys(launch.kernel for launch in recording.launches))
    if choice.kernel is not None and choice.kernel not in kernels:
        raise InputError(f"{recording.file}: no launch of {choice.kernel!r}; it has: {', '.join(kernels)}")
    of = [launch for launch in recording.launches if choice.kernel in (None, launch.kernel)]
    if choice.kernel is None and len(kernels) > 1:
        raise InputError(f"{recording.file}: --launch counts the launches of one kernel; name it with --kernel")
    if choice.launch is None:
        return [pair for pair in one_of_each(recording) if pair[0].kernel == choice.kernel]
    if not 0 <= choice.launch < len(of):
        raise InputError(f"{recording.file}: {of[0].kernel} has launches 0 to {len(of) - 1}, not {choice.launch}")
    return [(of[choice.launch], choice.launch)]


def every_launch(recording: Recording, choice: Choice) -> list[tuple[int, Launch]]:
    """Return the same with every one of those alike, in order, each with its number in the recording."""
    chosen = [launch for launch, _ in launches(recording, choice)]
    kernels = {launch.kernel for launch in chosen}
    return [
        (number, launch)
        for number, launch in enumerate(recording.launches)
        if (launch.kernel in kernels if choice.launch is None else any(launch is other for other in chosen))
    ]


def choose(
    recording: Recording, choice: Choice, hardware: Hardware = H200, space: str | None = None
) -> tuple[Launch, RequestView]:
    """Return the launch and the request that are meant; of several that are, the first that wastes the most.

    ``space`` prefers one kind of memory where the names leave a choice.

    Raises:
        InputError: when nothing fits the names.
    """
    chosen = [launch for launch, _ in launches(recording, choice)]
    if choice.line is not None:
        chosen = [launch for launch in chosen if _sites(launch, choice)]
        if not chosen:
            lines = sorted({site.line for launch, _ in launches(recording, choice) for site in launch.sites})
            place = f"{choice.line}" if choice.column is None else f"{choice.line}:{choice.column}"
            raise InputError(
                f"{recording.file}: no access begins at {place}; accesses are in lines {_listed(lines) or 'none'}"
            )
    launch = max(
        chosen, key=lambda launch: (any(s.space == space for s in launch.sites), facts(launch, hardware).excess)
    )
    now = request_view(launch, choice, hardware, space, f"{recording.file}: {launch.kernel}")
    return launch, now.spelled(recording)


def request_view(
    launch: Launch, choice: Choice, hardware: Hardware = H200, space: str | None = None, where: str = ""
) -> RequestView:
    """Return the request of a launch that is meant, as ``choose`` does; ``where`` is what errors call the launch.

    Raises:
        InputError: when no logged request fits.
    """
    logged = blocks(launch)
    where = where or launch.kernel
    if choice.block is not None and choice.block not in logged:
        raise InputError(f"{where}: block {choice.block} is not in the log; it has {_listed(logged) or 'none'}")
    requests = launch.requests
    rows = np.arange(len(requests), dtype=np.intp)
    sites = _sites(launch, choice) if choice.line is not None else range(len(launch.sites))
    preferred = [i for i in sites if launch.sites[i].space == space] or list(sites)
    rows = rows[np.isin(requests.site, preferred)]
    for name in ("block", "warp", "step"):
        value = getattr(choice, name)
        if value is not None:
            has = np.unique(getattr(requests, name)[rows]).tolist()
            if value not in has:
                raise InputError(f"{where}: no such request in {name} {value}; there are {_listed(has) or 'none'}")
            rows = rows[getattr(requests, name)[rows] == value]
    if not len(rows):
        return RequestView(launch, logged[0] if logged else 0, playback_order(launch, logged[0] if logged else 0), -1)
    row = rows[np.argmax(_waste(launch, rows, hardware))]
    block = int(requests.block[row])
    order = playback_order(launch, block)
    return RequestView(launch, block, order, int(np.flatnonzero(order == row)[0]))


def _waste(launch: Launch, rows: NDArray[np.intp], hardware: Hardware) -> NDArray[np.int64]:
    """Return the wavefronts, and of global sites the sectors, that each request takes beyond those that would do."""
    waste = np.zeros(len(rows), np.int64)
    for i in np.unique(launch.requests.site[rows]).tolist():
        at = launch.requests.site[rows] == i
        waste[at] = excess_at(launch.sites[i], launch.requests.addresses[rows[at]], hardware)
    shared = launch.in_shared[launch.requests.site[rows]]
    return np.where(shared, waste + 1, 0) if shared.any() else waste


def _sites(launch: Launch, choice: Choice) -> list[int]:
    return [
        i for i, site in enumerate(launch.sites) if site.line == choice.line and choice.column in (None, site.column)
    ]


def _listed(numbers: Iterable[int]) -> str:
    """Write numbers as a list of which the end may be left out."""
    texts = [str(number) for number in numbers]
    return ", ".join(texts if len(texts) <= 16 else [*texts[:15], "...", texts[-1]])
