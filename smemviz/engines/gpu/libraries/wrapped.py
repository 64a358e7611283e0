"""What stands before an object of a library whose launches are recorded."""

from collections.abc import Callable
from typing import Any

from smemviz.engines.recorder import Recorder
from smemviz.errors import UnsupportedError


class Wrapped:
    """An object of a library; what is not the launch is left to it."""

    def __init__(self, real: Any, **attributes: Any) -> None:
        self.__dict__.update(_real=real, **attributes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._real, name, value)


def real(value: Any) -> Any:
    """Return the object of the library."""
    return value._real if isinstance(value, Wrapped) else value


def made_after(recorder: Recorder, kernel: str, record: Callable[[], bool], make: Callable[[], None]) -> None:
    """Record a launch, then make it, unless recording found that it would do harm."""
    try:
        harmless = record()
    except UnsupportedError as error:
        make()  # it may fail by itself
        recorder.runs_unrecorded(kernel, error)
        return
    if harmless:
        make()
