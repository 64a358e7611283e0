"""How long a page waits for a lockstep run."""

from __future__ import annotations

from smemviz.errors import InputError

_LIMIT_SECONDS = 60.0


class Patience:
    """The progress of a run of ``file``: ends it when a launch is expected to take longer than a reader waits."""

    def __init__(self, file: str) -> None:
        self._file = file

    def __call__(self, done: int, total: int, text: str) -> None:
        """Take note of nothing."""

    def expect(self, seconds: float, text: str) -> None:
        """Refuse what takes too long.

        Raises:
            InputError: saying how long it would take, and what to do.
        """
        if seconds > _LIMIT_SECONDS:
            raise InputError(
                f"{self._file}: {text} would take about {seconds / 60:.0f} min in lockstep, too long for a page. "
                "Make it smaller, or record it with smemviz run and open the recording"
            )
