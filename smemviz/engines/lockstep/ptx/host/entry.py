"""What is launched: one kernel of a compiled file."""

from __future__ import annotations

from dataclasses import dataclass

from smemviz.frontends.cuda.compiling import Compiled
from smemviz.frontends.cuda.program import CudaProgram


@dataclass(frozen=True)
class Entry:
    """A kernel ready to be launched: its name as it was asked for, and what was made of it."""

    program: CudaProgram
    compiled: Compiled
    name: str

    @property
    def symbol(self) -> str:
        """Its name in the PTX."""
        return self.compiled.names[self.name]

    @property
    def plain(self) -> str:
        """Its name without a template's arguments."""
        return self.name.partition("<")[0].strip().rpartition("::")[2]

    @property
    def line(self) -> int:
        """Where it is defined."""
        return self.program.kernel(self.name, 1).line
