"""Exceptions that text from a browser raises and catches, and the other ways out of a block.

A limit or a refusal ends the run; it is none of these, so no text catches it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from smemviz.errors import PlaceError


@dataclass(frozen=True)
class Kind:
    """A class of exceptions; text names, calls and raises it."""

    raised: type[Exception]


@dataclass(frozen=True)
class Caught:
    """An exception as text holds it: its class and what it says."""

    raised: type[Exception]
    what: str

    def __str__(self) -> str:
        return self.what

    def __repr__(self) -> str:
        return f"{self.raised.__name__}({self.what!r})"


class Raised(Exception):  # noqa: N818 - the text's, not an error of the sandbox
    """An exception on its way through the text; ``error`` ends the run when nothing catches it."""

    def __init__(self, caught: Caught, error: PlaceError) -> None:
        self.caught = caught
        self.error = error


class ReturnSignal(Exception):  # noqa: N818 - no error
    """A function returns ``value``."""

    def __init__(self, value: Any) -> None:
        self.value = value


class BreakSignal(Exception):  # noqa: N818 - no error
    """A loop ends."""


class ContinueSignal(Exception):  # noqa: N818 - no error
    """A loop goes on with its next item."""


SIGNALS = (ReturnSignal, BreakSignal, ContinueSignal)

_KINDS = (
    *(Exception, ArithmeticError, AssertionError, AttributeError, FloatingPointError, ImportError, IndexError),
    *(KeyError, LookupError, ModuleNotFoundError, NameError, NotImplementedError, OSError, OverflowError),
    *(RuntimeError, StopIteration, TypeError, ValueError, ZeroDivisionError),
)
KINDS = {kind.__name__: Kind(kind) for kind in _KINDS}
