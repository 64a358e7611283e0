"""Arguments of a launch through CuPy, copied to the host before it happens."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.host import launch_place
from smemviz.engines.lockstep.host.stand_ins import arrays
from smemviz.errors import UnsupportedError
from smemviz.messages import english


def passed_copies(values: Sequence[Any], array: type) -> list[Any]:
    """Return a raw kernel's arguments, arrays of the device as the host's with their elements in the same order.

    One array is one.
    """
    copies: dict[tuple[int, int], Any] = {}
    arguments: list[Any] = []
    for value in values:
        argument: Any = value
        if isinstance(value, array):
            if not (argument.flags.c_contiguous or argument.flags.f_contiguous):
                what = english("it is given an array whose elements do not follow each other; copy it first")
                raise UnsupportedError(*launch_place(""), what)
            place = (argument.data.ptr, argument.nbytes)
            if place not in copies:
                copies[place] = argument.get(order="A")
            argument = copies[place]
        elif isinstance(value, np.ndarray):
            argument = value.tobytes()  # by value: CuPy takes those of one element
        elif hasattr(value, "ptr") and not isinstance(value, np.generic):
            argument = int(argument.ptr)
        arguments.append(argument)
    return arguments


def copies_in_place(values: Sequence[Any], array: type) -> list[Any]:
    """Return arguments, arrays of the device as stand-ins whose elements are as far apart; one array is one."""
    copies: dict[tuple[Any, ...], Any] = {}
    arguments: list[Any] = []
    for value in values:
        argument: Any = value
        if isinstance(value, array):
            place = (argument.data.ptr, argument.shape, argument.strides, argument.dtype)
            if place not in copies:
                copies[place] = _in_place(argument).view(arrays.ndarray)
            argument = copies[place]
        arguments.append(argument)
    return arguments


def _in_place(array: Any) -> NDArray[Any]:
    """Return a copy of an array, with what lies between its elements."""
    if not array.size or array.flags.c_contiguous or array.flags.f_contiguous:
        return array.get(order="A")  # type: ignore[no-any-return]
    if min(array.strides) < 0:
        what = english("{name} goes backwards through memory; copy it first", name="an array")
        raise UnsupportedError(*launch_place(""), what)
    reach = sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))
    cupy = importlib.import_module("cupy")
    between = cupy.ndarray((reach + array.itemsize,), np.uint8, memptr=array.data).get()
    return np.ndarray(array.shape, array.dtype, between, strides=array.strides)
