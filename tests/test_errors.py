"""What every error has in common."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import smemviz
from smemviz.errors import BusyError, InputError, KernelFileError, SmemvizError, SourceError

DATA = (Path(smemviz.__file__).parent / "_data").resolve().as_posix()


def test_an_error_is_one_line_and_does_not_say_where_smemviz_is_installed() -> None:
    assert str(InputError(f"{DATA}/kernels/square.py:3: a\nb")) == "kernels/square.py:3: a b"
    assert str(KernelFileError(f"{DATA}/kernels/square.py", 3, "what")) == "kernels/square.py:3: what"


@pytest.mark.parametrize(
    "error", [InputError("what"), KernelFileError("f.py", 3, "what"), SourceError("f.py", 3, 4, "what")]
)
def test_an_error_of_another_process_is_the_same(error: SmemvizError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.exit_code) == (type(error), str(error), 2)


def test_an_error_that_is_kept_holds_nothing_of_where_it_came_from() -> None:
    try:
        try:
            raise ValueError
        except ValueError:
            raise SourceError("f.py", 3, 4, "what")  # noqa: B904
    except SourceError as error:
        error.kernel = "of"
        kept = error.again()
    assert (str(kept), kept.file, kept.line, kept.column, kept.kernel) == ("f.py:3:4: what", "f.py", 3, 4, "of")
    assert kept.__traceback__ is kept.__context__ is None


def test_who_finds_it_busy_is_told_when_to_come_back() -> None:
    assert (BusyError("busy").seconds, BusyError("full", 30).seconds) == (5, 30)
