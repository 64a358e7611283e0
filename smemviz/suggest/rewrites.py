"""What writes a layout into a text: edits, which leave the rest as it is, the program with them, why there are none."""

from __future__ import annotations

import ast
import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from smemviz.errors import InputError
from smemviz.frontends.program import Program
from smemviz.frontends.reading import parse_program
from smemviz.languages import Language, loaded
from smemviz.messages import english
from smemviz.model.layout.candidates import LayoutChange, Pad, laid_out
from smemviz.model.layout.layouts import Layout
from smemviz.recordings.data import ArrayInfo
from smemviz.recordings.vocabulary import ConstantValue

_NO_NEWLINE = "\\ No newline at end of file\n"


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


Change = tuple[tuple["Edit", ...], dict[str, ConstantValue]]  # edits, and the constants that they set


class Rewriter(ABC):
    """A shared array of a kernel file, to be laid out anew; ``declared_at`` is the line of its declaration."""

    array: ArrayInfo
    declared_at: int

    @abstractmethod
    def rewrite(self, layout: LayoutChange) -> Rewrite:
        """Write a layout.

        Raises:
            NotRewrittenError: when it cannot be; names the line and the reason.
        """

    def refuses(self, layout: LayoutChange) -> str | None:
        """Say why a layout cannot be written, None when it can."""
        try:
            self.rewrite(layout)
        except NotRewrittenError as error:
            return error.message
        return None

    def check_static(self) -> None:
        """Refuse a dynamic array.

        Raises:
            NotRewrittenError: at its declaration.
        """
        if self.array.dynamic:
            array = self.array.name
            what = english("{array} is dynamic: the launch states its size, and no constant is its pitch", array=array)
            raise NotRewrittenError(self.declared_at, what)

    def laid_out(self, layout: LayoutChange) -> Layout:
        """Return the array in a layout.

        Raises:
            NotRewrittenError: at its declaration, when there can be no such array.
        """
        try:
            return laid_out(self.array, layout)
        except InputError as error:
            raise NotRewrittenError(self.declared_at, str(error)) from None


class LayoutWriter(Protocol):
    """What the module of a language does that its entry names as what writes layouts into it."""

    def as_declared(self, program: Program, array: ArrayInfo) -> ArrayInfo:
        """Return an array with the dimensions that the text gives it."""

    def rewriter(self, program: Program, array: ArrayInfo) -> Rewriter:
        """Return what lays an array out anew.

        Raises:
            NotRewrittenError: when its declaration is not in sight.
        """


def writer_of(language: Language) -> LayoutWriter | None:
    """Return what writes layouts into a language, None where nothing does."""
    return cast(LayoutWriter, loaded(language.rewriter)) if language.rewriter else None


def pad_constant(
    program: Program, used: Collection[str], pad: Pad, as_pad: Callable[[str, int], Change | None]
) -> Change | None:
    """Return the change of the constant that is the pad of a row's length, of those that a function has ``used``.

    That is where an array of one dimension has its pitch: ``tile[row * PITCH + column]``. ``as_pad`` makes a constant
    so much larger by the part of its sum that is nothing but a pad.
    """
    lengths = (name for name, constant in program.constants.items() if name in used and constant.value == pad.row)
    return next(filter(None, (as_pad(name, pad.pad) for name in lengths)), None)


def rewritten(program: Program, rewrites: tuple[Rewrite, ...]) -> Program:
    """Return a kernel file with rewrites made, all other constants as they were set.

    Raises:
        InputError: when two rewrites do not go together.
    """
    source = edited(program.source, [edit for rewrite in rewrites for edit in rewrite.edits])
    written = {name for rewrite in rewrites for name in rewrite.constants}
    overrides = {name: value for name, value in program.overrides.items() if name not in written}
    new = parse_program(source, program.file)
    # What is not read from the text: its view, and how it is compiled.
    settings = {part.name: getattr(program, part.name) for part in fields(program) if part.default is not MISSING}
    return replace(new, **settings).with_constants(overrides)


def difference(program: Program, changes: Iterable[tuple[ArrayInfo, LayoutChange]]) -> str:
    """Return the difference that lays shared arrays of a kernel file out anew, "" where that cannot be written."""
    writer = writer_of(program.language)
    if writer is None:
        return ""
    try:
        rewriters = [
            (writer.rewriter(program, writer.as_declared(program, array)), layout) for array, layout in changes
        ]
        new = rewritten(program, tuple(one.rewrite(layout) for one, layout in rewriters))
    except (NotRewrittenError, InputError):
        return ""
    return unified_diff(program.source, new.source, program.file)


class Edit(NamedTuple):
    """New text in the place of a piece of a source: lines are 1-based, columns bytes from 0, as in ``ast``."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


def replacing(node: ast.expr, text: str) -> Edit:
    """Return the edit that puts a text in the place of an expression."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return Edit(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, text)


def line_after(node: ast.stmt, text: str) -> Edit:
    """Return the edit that writes a line after a statement of the module."""
    assert node.end_lineno is not None
    return Edit(node.end_lineno + 1, 0, node.end_lineno + 1, 0, f"{text}\n")


def edited(source: str, edits: Iterable[Edit]) -> str:
    """Return a source with edits made; the same edit asked for twice is made once.

    Raises:
        InputError: when two edits want the same place to be different things.
    """
    lines = source.encode().splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        lines[-1] += b"\n"
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    text, limit = b"".join(lines), None
    for edit in sorted(set(edits), reverse=True):
        begin, end = starts[edit.line - 1] + edit.column, starts[edit.end_line - 1] + edit.end_column
        if limit is not None and (end > limit or (begin, end) == (limit, limit)):
            if begin == end == limit:  # two lines written after the same statement
                text = text[:begin] + edit.text.encode() + text[begin:]
                continue
            raise InputError(english("line {line}: two changes want this place to be different things", line=edit.line))
        text = text[:begin] + edit.text.encode() + text[end:]
        limit = begin
    result = text.decode()
    return result if source.endswith("\n") or not source else result.removesuffix("\n")


def unified_diff(before: str, after: str, file: str) -> str:
    """Return the difference of two texts of a file as ``git apply`` and ``patch -p1`` read it, empty for none.

    The file is named as seen from the working directory, one outside of it by its name alone.
    """
    path, here = Path(file), Path.cwd()
    if path.is_absolute():
        path = path.relative_to(here) if path.is_relative_to(here) else Path(path.name)
    name = path.as_posix()
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)
