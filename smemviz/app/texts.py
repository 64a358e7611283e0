"""The texts that came from browsers: what each gives when it is run, for as long as there is room."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from smemviz.app.addresses import EDITOR, KERNEL
from smemviz.app.cache import Cache, visitor
from smemviz.app.server.requests import note_busy
from smemviz.engines.sandbox import Supervisor, TextRun, parse_text
from smemviz.engines.sandbox.run import FILE
from smemviz.engines.sandbox.sharing import SharedFolder
from smemviz.errors import BusyError, InputError, SmemvizError
from smemviz.frontends.program import Program

_MOST_TEXTS = 512 << 20  # bytes of all texts together; a syntax tree takes hundreds of times as many as its source
_MOST_RUNS = 1 << 30  # bytes of what all runs recorded
_MOST_FILES = 2000  # of at most 64 KiB each
_PREFIX = "text-"
_NAME = re.compile(_PREFIX + "[0-9a-f]{16}")

_Run = tuple[str, tuple[tuple[str, object], ...]]


def page_of(file: str) -> str:
    """Return the path of the page on which a file is shown."""
    return EDITOR if _NAME.fullmatch(file) else KERNEL


def _name_of(source: str) -> str:
    return _PREFIX + hashlib.sha256(source.encode(errors="replace")).hexdigest()[:16]


@dataclass(frozen=True)
class Text:
    """A text by the name it has in a URL, and the program in it."""

    name: str
    program: Program


class Texts:
    """Texts by name; each is parsed once it was found harmless, and run by a supervisor, never by this process.

    In a ``folder`` are those that other processes of the same server were given.
    """

    def __init__(self, supervisor: Supervisor | None = None, folder: Path | None = None) -> None:
        self.supervisor = supervisor or Supervisor()
        self._folder = SharedFolder(folder, most_files=_MOST_FILES) if folder else None
        self._texts: Cache[str, Text] = Cache(_MOST_TEXTS)
        self._runs: Cache[_Run, TextRun | SmemvizError] = Cache(_MOST_RUNS)

    def __contains__(self, name: str) -> bool:
        return _NAME.fullmatch(name) is not None

    def add(self, source: str) -> Text:
        """Keep a text and return it with its name.

        Raises:
            InputError: when it is too long, nests too deeply, or is not Python; names the line.
        """
        name = _name_of(source)
        text = self._texts.once(name, lambda: Text(name, parse_text(source, FILE, self.supervisor.limits)))
        if self._folder:
            self._folder.write(name, source.encode(errors="replace"))
        return text

    def program(self, name: str) -> Program:
        """Return the program of a text.

        Raises:
            InputError: when the text is not here any more.
        """
        text = self._texts.get(name)
        if text is None:
            content = self._folder.read(name) if self._folder else None
            source = (content or b"").decode(errors="replace")
            if content is None or _name_of(source) != name:
                raise InputError("this text is no longer here; run it again in the editor")
            text = self.add(source)
        return text.program

    def run(self, name: str, constants: Mapping[str, object], request_name: str = "") -> TextRun:
        """Run a text with constants, once for the same; a request with a name is known again by it until its turn.

        Raises:
            WaitingError: when it is not its turn yet.
            SmemvizError: for what is wrong with the text, and for a limit it meets.
        """
        program = self.program(name).with_constants(constants)
        text_run = self._runs.once(
            (name, tuple(program.overrides.items())), lambda: self._result_of(program, request_name)
        )
        if isinstance(text_run, SmemvizError):
            raise text_run.again()
        return text_run

    def _result_of(self, program: Program, request_name: str) -> TextRun | SmemvizError:
        try:
            overrides = dict(program.overrides)
            return self.supervisor.run(program.source, overrides, visitor=visitor(), request_name=request_name)
        except BusyError as error:
            note_busy(error)
            raise  # another try may do better
        except SmemvizError as error:
            return error.again()
