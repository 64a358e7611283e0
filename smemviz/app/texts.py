"""The texts that came from browsers: what each gives when it is run, for as long as there is room."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from smemviz.engines.sandbox import Ran, SandboxLimits, Supervisor, parse_text
from smemviz.engines.sandbox.run import FILE
from smemviz.errors import BusyError, InputError, SmemvizError
from smemviz.program import Program

_MOST_SOURCE = 1 << 22  # characters of all texts together; a syntax tree takes hundreds of times as many bytes
_MOST_REQUESTS = 1_000_000  # of all runs together, at 700 bytes or so each
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
        self._texts: _Latest[str, Text] = _Latest(_MOST_SOURCE, lambda text: len(text.program.source))
        self._runs: _Latest[_Run, Ran | SmemvizError] = _Latest(_MOST_REQUESTS, _requests)

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
        self._texts.keep(name, text)
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
            except BusyError:
                raise  # another try may do better
            except SmemvizError as error:
                ran = error
        self._runs.keep(key, ran)
        if isinstance(ran, SmemvizError):
            raise ran
        return ran


class _Latest(Generic[Key, Value]):
    """The values kept last, by key, as long as they weigh no more than so much together; the last one in any case."""

    def __init__(self, most: int, weigh: Callable[[Value], int]) -> None:
        self._most = most
        self._weigh = weigh
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        kept = self._kept.get(key)
        return kept[0] if kept else None

    def keep(self, key: Key, value: Value) -> None:
        with self._lock:
            self._kept[key] = value, self._weigh(value)
            self._kept.move_to_end(key)
            total = sum(weight for _, weight in self._kept.values())
            while total > self._most and len(self._kept) > 1:
                total -= self._kept.popitem(last=False)[1][1]


def _requests(ran: Ran | SmemvizError) -> int:
    """Count the requests that a run keeps in memory; what has none still takes some room."""
    launches = ran.recording.launches if isinstance(ran, Ran) else ()
    return 1000 + sum(len(launch.requests) for launch in launches)
