"""What is launched: one kernel of a compiled file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from smemviz.engines.lockstep.ptx.host.variables import Variables
from smemviz.frontends.cuda.compiling import Compiled
from smemviz.frontends.cuda.cuda_program import CudaProgram

_COOPERATIVE = re.compile(r"\bthis_grid\b")


@dataclass(frozen=True)
class Entry:
    """A kernel ready to be launched: its name as it was asked for, and what was made of it.

    ``variables`` are those of its module where they last from launch to launch; else each launch has them anew.
    """

    program: CudaProgram
    compiled: Compiled
    name: str
    variables: Variables | None = field(default=None, compare=False, kw_only=True)

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

    @property
    def is_cooperative(self) -> bool:
        """Whether its blocks may wait for each other."""
        return _COOPERATIVE.search(self.program.device_text) is not None
