"""Everything smemviz can refuse or report, as one tree; each class carries the exit code of the command line.

SmemvizError
 +-- InputError          2  bad usage or bad input
 |    +-- KernelFileError   a kernel file, or a place in one
 |    |    +-- SourceError     text that does not compile, with its column
 |    |    +-- UnlaunchedError  one that launches nothing; offers a launch
 |    +-- ConstantError     a constant that is unknown, or a value that does not fit it
 |    +-- UnsupportedError  a construct that the lockstep engine does not execute
 |    |    +-- NoAttributeError   a name that a module does not have; hasattr sees it
 |    |    +-- NoImportError      such a name that is imported
 |    +-- LaunchError       a launch that cannot be made
 |    |    +-- RefusedLaunchError  one that no device would start
 |    +-- RecordingError    a recording that cannot be read
 |    +-- BusyError         too much is asked for at once
 |         +-- WaitingError    others come first; says how many
 +-- MissingError        3  this machine lacks what was asked for
"""

from __future__ import annotations

import traceback
from pathlib import Path, PurePath
from typing import Any, Self

from smemviz.printable import brief
from smemviz.version import __version__

_SHIPPED = f"{(Path(__file__).resolve().parent / '_data').as_posix()}/"


class SmemvizError(Exception):
    """Base of every error a user can meet; its text is one line: what, where, what to do.

    A file that came with smemviz is named as in its recordings, wherever smemviz is installed.
    """

    exit_code = 2

    def __init__(self, text: str) -> None:
        super().__init__(brief(text).replace(_SHIPPED, ""))

    def again(self) -> Self:
        """Return the same error, to be kept or raised anew, without the frames it came through and all they hold."""
        other = type(self).__new__(type(self), *self.args)
        other.__dict__.update(self.__dict__)
        return other


class InputError(SmemvizError):
    """Bad usage or bad input."""


class BusyError(InputError):
    """The server is busy with other requests; ask again in ``seconds``."""

    def __init__(self, text: str, seconds: int = 5) -> None:
        super().__init__(text)
        self.seconds = seconds


class WaitingError(BusyError):
    """The request waits in a queue, at a place from 1; ask again to keep the place."""

    def __init__(self, text: str, place: int) -> None:
        super().__init__(text)
        self.place = place


class PlaceError(InputError):
    """An error at a place in a source file: reads ``file:line: what``."""

    def __init__(self, file: str, line: int, what: str) -> None:
        super().__init__(f"{file}:{line}: {what}")
        self.file = file
        self.line = line
        self.what = brief(what)
        self.kernel = ""  # whose launch met it, where it is known
        self.findings: tuple[Any, ...] = ()  # the mistakes of that launch before it

    def __reduce__(self) -> tuple[type[PlaceError], tuple[str, int, str]]:
        return type(self), (self.file, self.line, self.what)


class KernelFileError(PlaceError):
    """A kernel file that cannot be read, lacks a part, or fails while it runs."""


class UnlaunchedError(KernelFileError):
    """A kernel file that launches none of its kernels; ``offer`` is a comment that would launch the first of them."""

    def __init__(self, file: str, line: int, what: str, offer: str) -> None:
        super().__init__(file, line, what)
        self.offer = offer

    def __reduce__(self) -> tuple[type[UnlaunchedError], tuple[str, int, str, str]]:  # type: ignore[override]
        return type(self), (self.file, self.line, self.what, self.offer)


class SourceError(KernelFileError):
    """Text that does not compile: reads ``file:line:column: what``, the column from 1 as compilers count it."""

    def __init__(self, file: str, line: int, column: int, what: str) -> None:
        super().__init__(file, line, what)
        self.args = (f"{file}:{line}:{column}: {self.what}",)
        self.column = column

    def __reduce__(self) -> tuple[type[SourceError], tuple[str, int, int, str]]:  # type: ignore[override]
        return type(self), (self.file, self.line, self.column, self.what)


class ConstantError(PlaceError):
    """A constant that the kernel file does not have, or a value that does not fit it."""


class UnsupportedError(PlaceError):
    """A construct outside what an engine executes; says what would run it."""


class NoAttributeError(UnsupportedError, AttributeError):
    """A name that a module does not have with any engine; ``hasattr`` and ``except AttributeError`` see it."""


class NoImportError(UnsupportedError, ImportError):
    """A name that is imported from a module that does not have it."""


class LaunchError(PlaceError):
    """A launch that cannot be made: its configuration or its arguments do not fit."""


class RefusedLaunchError(LaunchError):
    """A launch that the device would refuse: too many threads, too much shared memory."""


class BlocksError(LaunchError):
    """Blocks that were asked for and are not in the grid of a launch."""


class RecordingError(InputError):
    """A file that is not a readable recording."""


class MissingError(SmemvizError):
    """This machine lacks what was asked for: a GPU, a browser, a profiler."""

    exit_code = 3


class TerminatedError(BaseException):
    """SIGTERM. A program that catches all errors does not catch this, as it would not have seen the signal."""


class CutShortError(KeyboardInterrupt):
    """Ctrl-C or SIGTERM in a run that had launched something: what was recorded of it until then.

    ``recording`` is that as a recording, for who runs a file by ``smemviz.run``.
    """

    def __init__(self, launches: tuple[Any, ...], findings: tuple[Any, ...]) -> None:
        super().__init__()
        self.launches = launches
        self.findings = findings
        self.recording: Any = None


def stop_behind(error: BaseException | None) -> BaseException | None:
    """Return the Ctrl-C or SIGTERM that is behind an error, if one is; extensions written in C make others of it."""
    while error and not isinstance(error, KeyboardInterrupt | TerminatedError):
        error = error.__cause__ or error.__context__
    return error


def stop_code(stop: BaseException) -> int:
    """Return the exit code of a program that Ctrl-C or SIGTERM ended, as a shell reports it."""
    behind = stop.__cause__ if isinstance(stop, CutShortError) else stop
    return 143 if isinstance(behind, TerminatedError) else 130


DEBUG = "SMEMVIZ_DEBUG"  # in the environment, has the whole traceback shown
_MOST_SAID = 300  # characters of the error's own


def fault(error: BaseException) -> str:
    """Say what to report of an error."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} in {PurePath(frame.filename).name}:{frame.lineno}"
    return (
        f"a fault of smemviz {__version__}: {where}: {str(error)[:_MOST_SAID]}. Please report this line and what was "
        f"run; {DEBUG}=1 in the environment shows the whole traceback"
    )
