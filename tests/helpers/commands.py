"""The command line, run in this process."""

import json
import sys
from typing import Any, NamedTuple

import pytest

from smemviz.cli.main import main

COMMAND = [sys.executable, "-m", "smemviz"]
ESCAPES = "\x1b[2J\x1b]0;title\x07\x1b]52;c;Z29uZQ==\x07\x9b31m\x7f\r"


class Text(NamedTuple):
    """What a command wrote on standard output and on standard error."""

    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document that it wrote."""
        return json.loads(self.out)


class Command:
    """Runs ``smemviz`` with arguments, which has to end with an exit code; returns what it wrote."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object, code: int = 0) -> Text:
        self._capsys.readouterr()
        try:
            ended: object = main([*map(str, arguments)])
        except SystemExit as stop:
            ended = stop.code
        said = Text(*self._capsys.readouterr())
        assert ended == code, said.err
        return said
