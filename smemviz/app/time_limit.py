"""How long a page waits for a lockstep run, and how far that is."""

from pathlib import Path

from smemviz.errors import InputError
from smemviz.messages import english

_LIMIT_SECONDS = 60.0


class StoppedError(InputError):
    """A run that was stopped by who waited for it."""


class TimeLimit:
    """The progress of a run of ``file``, which ends when it would take longer than a reader waits, or is told to.

    ``done`` of ``total`` blocks of ``kernel`` have run.
    """

    def __init__(self, file: str) -> None:
        self.file = Path(file).name
        self.done, self.total, self.kernel = 0, 1, ""
        self._path = file
        self._stopped = False

    def __call__(self, done: int, total: int, text: str) -> None:
        """Take note of how far it is.

        Raises:
            StoppedError: when it was told to stop.
        """
        self.done, self.total, self.kernel = done, total, text
        if self._stopped:
            raise StoppedError(english("{file}: was stopped; load the page again to run it", file=self.file))

    def stop(self) -> None:
        """Have the run end as soon as it says how far it is."""
        self._stopped = True

    def expect(self, seconds: float, text: str) -> None:
        """Refuse what takes too long.

        Raises:
            InputError: saying how long it would take, and what to do.
        """
        if seconds > _LIMIT_SECONDS:
            raise InputError(
                f"{self._path}: {text} would take about {seconds / 60:.0f} min in lockstep, too long for a page. "
                "Make it smaller, or record it with smemviz run and open the recording"
            )
