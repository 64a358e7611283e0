"""Kernels and device functions as text from a browser has them: a definition, never a Python function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from smemviz.engines.host import Configuration
from smemviz.frontends.numba.python_functions import Function

Launcher = Callable[[Function, Configuration, tuple[Any, ...], tuple[str, int]], None]


@dataclass(frozen=True)
class Kernel:
    """What ``@cuda.jit`` makes of a definition; ``device`` tells the functions that only kernels call."""

    definition: Function
    device: bool


@dataclass(frozen=True)
class Configured:
    """A kernel with its launch configuration."""

    kernel: Kernel
    configuration: Configuration


@dataclass(frozen=True, eq=False)
class HostFunction:
    """A function of the text that runs on the host; ``enclosing`` are the variables of the functions around it."""

    definition: Function
    defaults: tuple[Any, ...]
    enclosing: tuple[dict[str, Any], ...]
