"""What is wrong with the arguments of a launch, whatever language its kernel is written in."""

from __future__ import annotations

from collections.abc import Sequence

from smemviz.errors import LaunchError
from smemviz.messages import english


def wrong_number(file: str, line: int, kernel: str, names: Sequence[str], count: int) -> LaunchError:
    """Return the error of a launch with another number of arguments than the kernel has parameters."""
    values = {"kernel": kernel, "names": ", ".join(names), "given": count}
    what = english("{kernel} takes {wanted} arguments ({names}); the launch gives {given}", wanted=len(names), **values)
    if len(names) == 1:
        what = english("{kernel} takes 1 argument ({names}); the launch gives {given}", **values)
    return LaunchError(file, line, what)
