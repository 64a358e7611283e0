"""The lines of a source file that belong to a launch: its kernel, and the functions in which it has sites."""

from __future__ import annotations

from functools import lru_cache

from smemviz.frontends.reading import frontend_of
from smemviz.languages import language_of
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording
from smemviz.recordings.text import lines_of

Span = tuple[int, int]


def listing(recording: Recording, launch: Launch) -> dict[str, list[Span]]:
    """Return the first and last lines to show of each file, in file order, that of the kernel first.

    Those are the lines of the kernel and of the functions that have one of the launch's sites.
    """
    own = recording.file_of(launch)
    places_by_file = {own: {(launch.kernel.partition("<")[0], launch.line)}}
    for site in launch.sites:
        places_by_file.setdefault(recording.file_of(launch, site), set()).add((site.function, site.line))
    return {file: _spans(file, recording.text(file), places) for file, places in places_by_file.items()}


def kernel_lines(recording: Recording, launch: Launch) -> list[Span]:
    """Return the lines to show of the kernel's own file."""
    return listing(recording, launch)[recording.file_of(launch)]


def _spans(file: str, source: str, places: set[tuple[str, int]]) -> list[Span]:
    spans = {
        (first, last)
        for name, first, last in functions(file, source)
        if any(name == function and first <= line <= last for function, line in places)
    }
    count = len(lines_of(source))
    return [(first, min(last, count)) for first, last in sorted(spans)] or [(1, count)]


@lru_cache(maxsize=16)
def functions(file: str, source: str) -> tuple[tuple[str, int, int], ...]:
    """Return every function of a file: its name, its first and its last line."""
    return frontend_of(language_of(file)).functions(source)
