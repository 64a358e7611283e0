"""The command line, run in this process."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from smemviz.cli.main import main


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
