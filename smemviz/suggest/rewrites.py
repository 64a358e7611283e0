"""What writes a layout into a text: the edits, how a program looks with them, and why there may be none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from smemviz.frontends.numba.program import Program
from smemviz.frontends.reading import parse_program
from smemviz.messages import english
from smemviz.model.layout.candidates import Moved
from smemviz.recordings.dtypes import ConstantValue
from smemviz.suggest.edits import Edit, edited


class NotRewrittenError(Exception):
    """Why a layout is not written into a kernel file, in a line: ``line 14: held is given another name``."""

    def __init__(self, line: int, why: str) -> None:
        self.message = english("line {line}: {why}", line=line, why=why)
        super().__init__(self.message)


@dataclass(frozen=True)
class Rewrite:
    """The edits of a kernel file that give an array a layout; ``constants`` are those that the edits set.

    ``instructions`` is about how many more each access takes.
    """

    edits: tuple[Edit, ...]
    constants: Mapping[str, ConstantValue] = field(default_factory=dict)
    instructions: int = 0


class Rewriter(ABC):
    """A shared array of a kernel file, to be laid out anew."""

    @abstractmethod
    def rewrite(self, layout: Moved) -> Rewrite:
        """Write a layout.

        Raises:
            NotRewrittenError: when it cannot be; names the line and the reason.
        """

    def refuses(self, layout: Moved) -> str | None:
        """Say why a layout cannot be written, None when it can."""
        try:
            self.rewrite(layout)
        except NotRewrittenError as error:
            return error.message
        return None


def rewritten(program: Program, rewrites: tuple[Rewrite, ...]) -> Program:
    """Return a kernel file with rewrites made, all other constants as they were set.

    Raises:
        InputError: when two rewrites do not go together.
    """
    source = edited(program.source, [edit for rewrite in rewrites for edit in rewrite.edits])
    written = {name for rewrite in rewrites for name in rewrite.constants}
    kept = {name: value for name, value in program.overrides.items() if name not in written}
    new = parse_program(source, program.file)
    parts = {name: getattr(new, name) for name in ("source", "tree", "constants", "kernels", "functions")}
    return replace(program, **parts, overrides={}).with_constants(kept)
