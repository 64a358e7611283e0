"""What makes a program that takes long shorter, told with the first launch that does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from smemviz.engines.lockstep.pace import Expecting
from smemviz.engines.options import Progress
from smemviz.engines.remedies import wants_arguments
from smemviz.frontends.cuda.cuda_program import CudaProgram
from smemviz.messages import english

_LONG_SECONDS = 30.0
_SIZE = 1024  # the least value of a constant that is taken for the size of a problem


def advising(progress: Progress | None, program: CudaProgram, arguments: Sequence[str]) -> Progress | None:
    """Return a progress callback that says of a launch that takes long how to give the program less to do."""
    if not isinstance(progress, Expecting):
        return progress
    values = {name: constant.value for name, constant in program.constants.items()}
    sizes = {name: value for name, value in values.items() if type(value) is int and value >= _SIZE}
    if sizes:
        name = max(sizes, key=lambda name: sizes[name])
        advice = english("{name} is {value}; give less with --set {name}=...", name=name, value=sizes[name])
    elif not arguments and re.search(r"\bargv\b", program.source):
        advice = wants_arguments()
    else:
        return progress
    return _Advising(progress, advice)


@dataclass
class _Advising:
    progress: Progress
    advice: str

    def __call__(self, done: int, total: int, text: str) -> None:
        self.progress(done, total, text)

    def expect(self, seconds: float, text: str) -> None:
        assert isinstance(self.progress, Expecting)
        advice = f" ({self.advice})" if self.advice and seconds > _LONG_SECONDS else ""
        self.progress.expect(seconds, f"{text}{advice}")
        self.advice = "" if advice else self.advice
