"""What holds for every step of the host part: its bounds, and errors in one line at the line that runs."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from smemviz.engines.sandbox.kernels import Launcher
from smemviz.engines.sandbox.known import NotAllowedError, admitted, handed
from smemviz.engines.sandbox.limits import SandboxLimits
from smemviz.engines.sandbox.scope import modules
from smemviz.engines.sandbox.sizes import Known, elements
from smemviz.errors import KernelFileError, PlaceError, SmemvizError, UnsupportedError
from smemviz.program import Program


class Bounds:
    """The state of one run. ``launcher`` starts a kernel, ``printed`` is what was printed."""

    def __init__(self, program: Program, limits: SandboxLimits, launcher: Launcher) -> None:
        self.file, self.source, self.tree = program.file, program.source, program.tree
        self.limits = limits
        self.launcher = launcher
        self.modules = modules(program.file)
        dtype = Known("dtype", lambda dtype: dtype.type, lambda name: 1)
        self.globals: dict[str, Any] = {"__name__": "smemviz_editor", "__smemviz_dtype__": dtype}
        self.frames: list[dict[str, Any]] = []
        self.printed: list[str] = []
        self.line = 1
        self._steps = 0
        self._launches = 0
        self._characters = 0

    @property
    def names(self) -> dict[str, Any]:
        """The variables of the innermost function that runs, or of the module."""
        return self.frames[-1] if self.frames else self.globals

    # -- bounds and errors

    def error(self, what: str) -> KernelFileError:
        """Return an error at the current line."""
        return KernelFileError(self.file, self.line, what)

    def refuse(self, what: str) -> UnsupportedError:
        """Return the refusal of a construct at the current line."""
        text = f"{what} is not run in the editor; save the file and run it with smemviz run"
        return UnsupportedError(self.file, self.line, text)

    def step(self, node: ast.stmt | ast.expr) -> None:
        """Count a step, and remember its line."""
        self.line = node.lineno
        self._steps += 1
        if self._steps > self.limits.steps:
            raise self.error(f"the host part took more than {self.limits.steps:,} steps; the editor gives no more")

    def bounded(self, value: Any) -> Any:
        """Return a value that is within the limits on numbers, texts, lists and arrays."""
        if isinstance(value, int) and value.bit_length() > self.limits.integer_bits:
            raise self.error(f"a whole number of more than {self.limits.integer_bits:,} bits; the editor has no larger")
        if isinstance(value, str) and len(value) > self.limits.characters:
            raise self.error(f"a text of more than {self.limits.characters:,} characters; the editor has no longer")
        if isinstance(value, list | tuple) and len(value) > self.limits.items:
            raise self.error(f"a list of more than {self.limits.items:,} items; the editor has no longer")
        return value

    def afford(self, numbers: int) -> None:
        """Refuse a result of so many numbers, taken as 8 bytes each, when it is too large."""
        if numbers * 8 > self.limits.array_bytes:
            raise self.error(
                f"this needs about {numbers * 8:,} bytes; the editor gives an array {self.limits.array_bytes:,}"
            )

    def guarded(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call something of a library; whatever it raises becomes one line."""
        try:
            return self.bounded(admitted(function(*arguments, **options)))
        except PlaceError as error:
            raise type(error)(self.file, self.line, error.what) from None
        except SmemvizError:
            raise
        except NotAllowedError as error:
            raise self.error(f"{error.args[0]} is not for the editor; use numbers and arrays of numbers") from None
        except (RecursionError, MemoryError):
            raise
        except Exception as error:  # a library raises what it likes on what a text gives it
            said = [line.strip() for line in str(error).splitlines() if line.strip()]
            raise self.error(f"{type(error).__name__}{': ' + said[0] if said else ''}") from None

    def handed(self, value: Any) -> Any:
        """Return a value as a library may get it."""
        try:
            return handed(value)
        except NotAllowedError as error:
            raise self.error(f"{error.args[0]} is not for the editor here; use numbers and arrays") from None

    def text(self, value: Any) -> str:
        """Return a value as text."""
        self.afford(elements(value))
        if isinstance(value, type) and issubclass(value, np.generic):
            return np.dtype(value).name  # as Numba's types say themselves
        return str(self.guarded(str, self.handed(value) if not isinstance(value, str) else value))

    def print(self, *values: Any, sep: str = " ", end: str = "\n", **options: Any) -> None:
        """Keep what the host part prints."""
        self.write(sep.join(map(self.text, values)) + end)

    def write(self, text: str) -> None:
        """Keep what is printed, here or in a kernel, as far as the limit on texts goes."""
        left = self.limits.characters - self._characters
        if left > 0:
            self.printed.append(text[:left])
        self._characters += len(text)
