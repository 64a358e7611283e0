"""How a run and each launch in it are made and recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from smemviz.engines.limits import DEFAULT_LIMITS, LOG_BYTES, Limits
from smemviz.engines.selection import Blocks, Picker

Progress = Callable[[int, int, str], None]  # called as progress(done, total, text)


@dataclass(frozen=True)
class RunOptions:
    """How a run is made and recorded.

    ``progress`` is called as a launch goes on, ``log_bytes`` bounds the logs of all launches together, ``limits`` are
    those of one launch in lockstep. ``picker`` tells which launches are recorded; the others happen all the same.
    """

    progress: Progress | None = None
    log_bytes: int = LOG_BYTES
    picker: Picker = field(default_factory=Picker)
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True)
class LaunchOptions:
    """How one launch is made and recorded.

    Args:
        progress: called as ``progress(blocks done, blocks, kernel)``, and every second of a batch in lockstep with
            percents; one with a method ``expect(seconds, kernel)`` is told of what will take longer than a few seconds.
        log_bytes: the most the log may take before requests are counted instead of kept.
        limits: what the launch may use in lockstep.
        number: of the launch in its recording.
        logged: the blocks to log in full; None means all where they fit, else the first, the middle and the last.
        recorded: False for a launch that only has to happen; nothing is counted then.
    """

    progress: Progress | None = None
    log_bytes: int = LOG_BYTES
    limits: Limits = DEFAULT_LIMITS
    number: int = 0
    logged: Blocks | None = None
    recorded: bool = True


DEFAULT_OPTIONS = LaunchOptions()
