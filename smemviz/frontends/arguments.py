"""What is wrong with the arguments of a launch, whatever language its kernel is written in."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from smemviz.errors import LaunchError
from smemviz.messages import english


def wrong_number(file: str, line: int, kernel: str, names: Sequence[str], count: int) -> LaunchError:
    """Return the error of a launch with another number of arguments than the kernel has parameters."""
    values = {"kernel": kernel, "names": ", ".join(names), "given": count}
    what = english("{kernel} takes {wanted} arguments ({names}); the launch gives {given}", wanted=len(names), **values)
    if len(names) == 1:
        what = english("{kernel} takes 1 argument ({names}); the launch gives {given}", **values)
    return LaunchError(file, line, what)


def is_whole(value: Any) -> bool:
    """Tell whether a number is an integer."""
    return isinstance(value, int) or (math.isfinite(value) and value == int(value))


def fits(value: Any, dtype: np.dtype[Any]) -> bool:
    """Tell whether a number is one of a type, rounded where that has fractions."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return is_whole(value) and int(limits.min) <= int(value) <= int(limits.max)
    if dtype.kind == "f" and (isinstance(value, int) or math.isfinite(value)):
        return bool(abs(value) <= int(np.finfo(dtype).max))
    return True
