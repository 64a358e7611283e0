"""What the processes of one server share: files by name, what runs gave, and whose turn it is to run.

So many run at once, in the order of asking, and nobody twice before all others once. What a process held that has ended
is free again.
"""

import hashlib
import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from smemviz.errors import BusyError, MissingError
from smemviz.messages import english

_MOST_BYTES = 1 << 28


class SharedFolder:
    """Files by name, at most so many and of so many bytes together; what has a name never changes."""

    def __init__(self, folder: Path, *, most_files: float = inf, most_bytes: float = inf) -> None:
        self._folder = folder
        self._most_files = most_files
        self._most_bytes = most_bytes
        folder.mkdir(parents=True, exist_ok=True)

    def read(self, name: str) -> bytes | None:
        """Return what has this name, None where there is nothing."""
        try:
            return (self._folder / name).read_bytes()
        except OSError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Keep content, and forget what nobody wrote for longest; nothing happens where it cannot be kept."""
        path, draft = self._folder / name, self._folder / f".{uuid4().hex}"
        with suppress(OSError):
            if path.exists():
                path.touch()
                return
            draft.write_bytes(content)
            draft.replace(path)
            self._forget_oldest(path)

    def _forget_oldest(self, latest: Path) -> None:
        # Two files may have the same time, which some systems tell in steps of milliseconds.
        files = sorted(self._all(), key=lambda file: (file[0] == latest, file[1].st_mtime_ns), reverse=True)
        size = 0
        for number, (path, status) in enumerate(files):
            size += status.st_size
            if number >= self._most_files or size > self._most_bytes:
                path.unlink(missing_ok=True)

    def _all(self) -> list[tuple[Path, os.stat_result]]:
        """Return the files with what is known of them; drafts of processes that ended are among them."""
        files = []
        for path in self._folder.iterdir():
            with suppress(OSError):  # another process has just forgotten it
                files.append((path, path.stat()))
        return files


class Result(NamedTuple):
    """What a run printed, and the content of its recording's file."""

    printed: str
    recording: bytes


class Results:
    """Results by what was run: a text, the name it goes by, and constants."""

    def __init__(self, folder: Path) -> None:
        self._folder = SharedFolder(folder, most_bytes=_MOST_BYTES)

    def read(self, *run: Any) -> Result | None:
        """Return a result, None where there is none."""
        content = self._folder.read(name_of(run))
        if content is None:
            return None
        printed, _, recording = content.partition(b"\n")
        return Result(json.loads(printed), recording)

    def write(self, result: Result, *run: Any) -> None:
        """Keep a result, and forget the oldest for which there is no room; what cannot be written is run again."""
        self._folder.write(name_of(run), json.dumps(result.printed).encode() + b"\n" + result.recording)


def name_of(run: tuple[Any, ...]) -> str:
    """Return the name of what is run, another for anything else."""
    return hashlib.sha256(json.dumps(run).encode()).hexdigest()


MOST_OF_ONE = 8  # that a visitor may have waiting or running
_MOST = 500
_WAITING_SECONDS = 10.0  # after which who has not asked again is taken to have left
_RUNNING_SECONDS = 120.0  # longer than any run takes, with the start of its process

_TABLE = """CREATE TABLE IF NOT EXISTS turns (
  number INTEGER PRIMARY KEY, ticket TEXT UNIQUE, visitor TEXT, process INTEGER, running INTEGER, seen REAL)"""

Clock = Callable[[], float]


@dataclass(frozen=True)
class Ticket:
    """What somebody asks for: who it is, and a name by which the same question is known when it is asked again."""

    visitor: str
    name: str


class Turns:
    """Turns of one process, or of all that share the ``file``.

    Raises:
        MissingError: when the file cannot be written.
        BusyError: later, from every method, when it cannot be any more.
    """

    def __init__(self, at_once: int, file: Path | None = None, clock: Clock = time.time) -> None:
        self.at_once = at_once
        self._clock = clock
        self._lock = threading.Lock()
        try:
            self._database = sqlite3.connect(
                file or ":memory:", timeout=30, isolation_level=None, check_same_thread=False, cached_statements=32
            )
            for setting in ("journal_mode = MEMORY", "synchronous = OFF"):  # nothing here outlives the server
                self._database.execute(f"PRAGMA {setting}")
            self._database.execute(_TABLE)
        except sqlite3.Error as error:
            raise MissingError(f"{file}: cannot be written ({error}); let TMPDIR name a folder with room") from None

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def place(self, ticket: Ticket) -> int | None:
        """Ask for a turn: 0 where it is there, to be given back by ``done``; else the place in the queue, from 1.

        None says that nobody else, or not this visitor, may wait as well. The same question, asked while it is run,
        is next.
        """
        with self._changing() as database:
            now = self._clock()
            self._forget_who_left(database, now)
            known = database.execute("SELECT running FROM turns WHERE ticket = ?", (ticket.name,)).fetchone()
            if known == (1,):
                return 1
            if not known and not self._may_wait(database, ticket.visitor):
                return None
            database.execute(
                "INSERT INTO turns (ticket, visitor, process, running, seen) VALUES (?, ?, ?, 0, ?) "
                "ON CONFLICT (ticket) DO UPDATE SET seen = excluded.seen, process = excluded.process",
                (ticket.name, ticket.visitor, os.getpid(), now),
            )
            place = self._places(database).index(ticket.name) + 1 - self._free(database)
            if place <= 0:
                database.execute("UPDATE turns SET running = 1 WHERE ticket = ?", (ticket.name,))
            return max(place, 0)

    def done(self, ticket: Ticket) -> None:
        """Give a turn back, or a place in the queue."""
        with self._changing() as database:
            database.execute("DELETE FROM turns WHERE ticket = ?", (ticket.name,))

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._database.execute("BEGIN IMMEDIATE")
                try:
                    yield self._database
                finally:
                    self._database.execute("COMMIT")
            except sqlite3.Error as error:
                raise BusyError(english("the server cannot store its queue ({error})", error=error)) from None

    def _forget_who_left(self, database: sqlite3.Connection, now: float) -> None:
        database.execute(
            "DELETE FROM turns WHERE seen < ? - CASE running WHEN 1 THEN ? ELSE ? END",
            (now, _RUNNING_SECONDS, _WAITING_SECONDS),
        )
        for (process,) in database.execute("SELECT DISTINCT process FROM turns WHERE running").fetchall():
            if not _is_alive(process):
                database.execute("DELETE FROM turns WHERE running AND process = ?", (process,))

    def _may_wait(self, database: sqlite3.Connection, visitor: str) -> bool:
        everybody, own = database.execute("SELECT count(*), total(visitor = ?) FROM turns", (visitor,)).fetchone()
        return bool(everybody < _MOST and own < MOST_OF_ONE)

    def _free(self, database: sqlite3.Connection) -> int:
        (running,) = database.execute("SELECT total(running) FROM turns").fetchone()
        return self.at_once - int(running)

    def _places(self, database: sqlite3.Connection) -> list[str]:
        """Return the tickets that wait: first those of visitors with the fewest before them, in the order of asking."""
        before: dict[str, int] = {}
        waiting = []
        for number, ticket, visitor, running in database.execute(
            "SELECT number, ticket, visitor, running FROM turns ORDER BY running DESC, number"
        ):
            turn = before.get(visitor, 0)
            before[visitor] = turn + 1
            if not running:
                waiting.append((turn, number, ticket))
        return [ticket for _, _, ticket in sorted(waiting)]


def _is_alive(process: int) -> bool:
    if sys.platform == "win32" or process == os.getpid():  # where asking would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
