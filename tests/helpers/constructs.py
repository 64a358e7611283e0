"""Every construct of Python and NumPy that Numba's documentation for CUDA speaks of, and near misses, one by one."""

import json
import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from helpers.lockstep_text import HEAD

DATA = Path(__file__).resolve().parents[1] / "data" / "constructs.json"


@dataclass(frozen=True)
class Construct:
    """The body of a kernel; ``numba`` tells whether it ran on an H200 with numba-cuda 0.30.4.

    Of mistakes, and of what was added last, it tells whether numba-cuda compiles it to LLVM's language.
    ``says`` is lockstep's refusal, empty where it runs.
    """

    name: str
    before: str
    body: str
    numba: bool
    says: str

    @property
    def text(self) -> str:
        """The text of the kernel, with what stands before it."""
        lines = textwrap.indent(self.body, "    ")
        return f"{self.before}@cuda.jit\ndef kernel(a, m, out, n):\n    i = cuda.grid(1)\n{lines}\n"

    @property
    def source(self) -> str:
        """The text of the file."""
        return HEAD + self.text


def constructs() -> list[Construct]:
    """Return all of them."""
    return [Construct(**row) for row in json.loads(DATA.read_text(encoding="utf-8"))]


def arguments() -> list[object]:
    """Return what their kernels are given; the third holds what they leave."""
    a = np.arange(8, dtype=np.float32) * 1.5 - 2
    return [a, np.arange(64, dtype=np.float32).reshape(8, 8), np.zeros(8), 2]
