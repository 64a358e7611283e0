"""What differs between kernel files in Python and in CUDA C++ where a layout is looked for, written and verified."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from smemviz.engines import lockstep
from smemviz.engines.lockstep.ptx.host import running
from smemviz.engines.recorder import Progress
from smemviz.frontends.cuda.program import CudaProgram
from smemviz.frontends.numba.program import Program
from smemviz.frontends.numba.sites.loaded import loaded_sites
from smemviz.recordings.data import ArrayInfo, Finding, Launch
from smemviz.recordings.recording import Recording
from smemviz.suggest.cuda.rewriting import CudaRewriting, as_declared
from smemviz.suggest.rewrites import Rewriter
from smemviz.suggest.rewriting import Rewriting

After = Callable[[str, Sequence[object]], None]  # a kernel, and its arguments after a launch of it
Ran = tuple[tuple[Launch, ...], tuple[Finding, ...]]


@dataclass(frozen=True)
class Language:
    """One language.

    ``as_declared`` gives an array the dimensions of its declaration, ``rewriter`` lays it out anew; ``data_decides``
    are the sites of a launch whose words data may choose; ``run`` runs a file in lockstep.
    """

    as_declared: Callable[[Program, ArrayInfo], ArrayInfo]
    rewriter: Callable[[Program, ArrayInfo], Rewriter]
    data_decides: Callable[[Recording, Launch], Collection[int]]
    run: Callable[[Program, Progress | None, After], Ran]


def language_of(program: Program) -> Language:
    """Return the language that a kernel file is written in."""
    return _CUDA if isinstance(program, CudaProgram) else _PYTHON


def _cuda(program: Program) -> CudaProgram:
    assert isinstance(program, CudaProgram)
    return program


_PYTHON = Language(
    as_declared=lambda program, array: array,
    rewriter=Rewriting,
    data_decides=loaded_sites,
    run=lambda program, progress, after: lockstep.run(program, progress, after=after),
)
_CUDA = Language(
    as_declared=lambda program, array: as_declared(_cuda(program), array),
    rewriter=lambda program, array: CudaRewriting(_cuda(program), array),
    # What a kernel loads is not followed through its text; the lanes alone have to tell.
    data_decides=lambda recording, launch: range(len(launch.sites)),
    run=lambda program, progress, after: running.run(_cuda(program), progress, after=after),
)
