"""The shape of a launch, as it is written in its brackets, and the line that it is written in."""

import math
import operator
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from numbers import Integral
from pathlib import Path
from types import FrameType
from typing import Any

from smemviz.errors import LaunchError
from smemviz.messages import english
from smemviz.paths import is_packaged
from smemviz.recordings.data import ArrayInfo, Dim3, Launch, Requests, Site, Totals


@dataclass(frozen=True)
class Configuration:
    """What stands in the brackets of ``kernel[grid, block, stream, dynamic_shared]``, sizes as three numbers.

    ``cluster`` is how many blocks one has along each axis, None where the launch does not say.
    """

    grid: Dim3
    block: Dim3
    stream: Any = 0
    dynamic_shared: int = 0
    cluster: Dim3 | None = None

    @property
    def threads(self) -> int:
        """All threads of the grid."""
        return math.prod(self.grid) * math.prod(self.block)

    def launched(
        self,
        kernel: str,
        line: int,
        shared_bytes: int,
        sites: tuple[Site, ...],
        arrays: tuple[ArrayInfo, ...],
        requests: Requests,
        totals: Totals | None,
        file: str = "",
    ) -> Launch:
        """Return what a launch of this shape did, as a recording has it."""
        return Launch(
            kernel=kernel,
            line=line,
            grid=self.grid,
            block=self.block,
            dynamic_shared=self.dynamic_shared,
            shared_bytes=shared_bytes,
            sites=sites,
            arrays=arrays,
            requests=requests,
            totals=totals,
            file=file,
        )


def configuration(place: tuple[str, int], launch_shape: object) -> Configuration:
    """Read a launch configuration; ``place`` is the file and line that errors name.

    Raises:
        LaunchError: when it is not two to four values, or a size is not a positive integer.
    """
    values = launch_shape if isinstance(launch_shape, tuple) else (launch_shape,)
    if not 2 <= len(values) <= 4:
        raise LaunchError(
            *place, english("a launch needs kernel[grid, block], then perhaps a stream and dynamic shared bytes")
        )
    grid, block = _dim3(place, "grid", values[0]), _dim3(place, "block", values[1])
    shared = values[3] if len(values) > 3 else 0
    try:
        dynamic = operator.index(shared)
    except TypeError:  # an array has __index__, too
        dynamic = -1
    if dynamic < 0:
        raise LaunchError(
            *place, english("dynamic shared memory is a number of bytes; {value} is not", value=repr(shared))
        )
    stream = values[2] if len(values) > 2 else 0
    if len(values) > 2 and isinstance(stream, Integral) and stream:
        raise LaunchError(
            *place,
            english(
                "the third value of a launch is a stream; {value} is not one. Dynamic shared memory is the fourth: "
                "kernel[grid, block, 0, {value}]",
                value=stream,
            ),
        )
    return Configuration(grid, block, stream, dynamic)


def _dim3(place: tuple[str, int], what: str, size: object) -> Dim3:
    if type(size) is int and size > 0:
        return size, 1, 1
    values = tuple(size) if isinstance(size, Sequence) else (size,)
    try:
        sizes = [operator.index(value) for value in values]
    except TypeError:
        sizes = []
    if not 1 <= len(sizes) <= 3:
        if what == "grid":
            raise LaunchError(*place, english("the grid is one to three integers; {value} is not", value=repr(size)))
        raise LaunchError(*place, english("the block is one to three integers; {value} is not", value=repr(size)))
    sizes += [1] * (3 - len(sizes))
    if min(sizes) < 1:
        if what == "grid":
            raise LaunchError(*place, english("the grid {sizes} has a size below 1", sizes=tuple(sizes)))
        raise LaunchError(*place, english("the block {sizes} has a size below 1", sizes=tuple(sizes)))
    return sizes[0], sizes[1], sizes[2]


def launch_place(file: str) -> tuple[str, int]:
    """Return the file and line of the innermost running frame of ``file``: the launch a user wrote.

    With no file it is the innermost frame of anything but smemviz, Numba, Triton and torch.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name == file or not (file or is_library(name)):
            return name, frame.f_lineno
        frame = frame.f_back
    return file, 1


def is_library(file: str) -> bool:
    """Tell whether a source file is one of smemviz, its gallery left out, of Numba, Triton or torch."""
    return file.startswith(_libraries()) and not is_packaged(file)


@cache
def _libraries() -> tuple[str, ...]:
    """Return the folders of smemviz and of these, found without loading them: a confined process could not."""
    # numba_cuda holds numba.cuda if it is there.
    specs = (find_spec(name) for name in ("smemviz", "numba", "numba_cuda", "triton", "torch"))
    return tuple(f"{Path(spec.origin).parent}{os.sep}" for spec in specs if spec and spec.origin)
