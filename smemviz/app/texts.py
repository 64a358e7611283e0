"""The texts that came from browsers: what each gives when it is run, for as long as there is room."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from smemviz.engines.sandbox import Ran, SandboxLimits, Supervisor, parse_text
from smemviz.engines.sandbox.run import FILE
from smemviz.errors import InputError, SmemvizError
from smemviz.program import Program

_MOST_TEXTS = 64
_MOST_RUNS = 32
_PREFIX = "text-"

Key = TypeVar("Key")
Value = TypeVar("Value")
_Run = tuple[str, tuple[tuple[str, object], ...]]


def page_of(file: str) -> str:
    """Return the path of the page on which a file is shown."""
    return "/editor" if file.startswith(_PREFIX) else "/kernel"


@dataclass(frozen=True)
class Text:
    """A text by the name it has in a URL, and the program in it."""

    name: str
    program: Program


class Texts:
    """Texts by name; each is parsed once it was found harmless, and run by a supervisor, never by this process."""

    def __init__(self, supervisor: Supervisor | None = None) -> None:
        self.supervisor = supervisor or Supervisor()
        self._texts: OrderedDict[str, Text] = OrderedDict()
        self._runs: OrderedDict[_Run, Ran | SmemvizError] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, name: str) -> bool:
        return name.startswith(_PREFIX)

    @property
    def limits(self) -> SandboxLimits:
        """What a text may use."""
        return self.supervisor.limits

    def add(self, source: str) -> Text:
        """Keep a text and return it with its name.

        Raises:
            InputError: when it is too long, nests too deeply, or is not Python; names the line.
        """
        name = _PREFIX + hashlib.sha256(source.encode(errors="replace")).hexdigest()[:16]
        text = self._texts.get(name) or Text(name, parse_text(source, FILE, self.limits))
        _keep(self._texts, self._lock, name, text, _MOST_TEXTS)
        return text

    def program(self, name: str) -> Program:
        """Return the program of a text.

        Raises:
            InputError: when the text is not here any more.
        """
        text = self._texts.get(name)
        if text is None:
            raise InputError("this text is not here any more; run it again in the editor")
        return text.program

    def run(self, name: str, constants: Mapping[str, object]) -> Ran:
        """Run a text with constants, once for the same.

        Raises:
            SmemvizError: for what is wrong with the text, and for a limit it meets.
        """
        program = self.program(name).with_constants(constants)
        key = (name, tuple(program.overrides.items()))
        ran = self._runs.get(key)
        if ran is None:
            try:
                ran = self.supervisor.run(program.source, dict(program.overrides))
            except SmemvizError as error:
                ran = error
        _keep(self._runs, self._lock, key, ran, _MOST_RUNS)
        if isinstance(ran, SmemvizError):
            raise ran
        return ran


def _keep(kept: OrderedDict[Key, Value], lock: threading.Lock, key: Key, value: Value, most: int) -> None:
    """Keep a value as the latest of at most so many."""
    with lock:
        kept[key] = value
        kept.move_to_end(key)
        while len(kept) > most:
            kept.popitem(last=False)
