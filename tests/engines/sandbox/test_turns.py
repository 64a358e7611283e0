"""Whose turn it is, told by a clock of the test's own."""

import subprocess
import sys

import pytest

from smemviz.engines.sandbox.sharing import MOST_OF_ONE, Ticket, Turns
from smemviz.errors import BusyError, MissingError


@pytest.fixture
def now():
    return [1000.0]


@pytest.fixture
def turns(now):
    made = Turns(2, clock=lambda: now[0])
    yield made
    made.close()


def asked(name):
    """Make a ticket of the visitor whose letter it begins with."""
    return Ticket(name[0], name)


def test_so_many_run_and_the_others_are_told_their_place(turns):
    assert [turns.place(asked(name)) for name in ("a1", "b1", "c1", "d1")] == [0, 0, 1, 2]
    assert turns.place(asked("d1")) == 2  # asking again moves nobody
    turns.done(asked("a1"))
    assert [turns.place(asked(name)) for name in ("d1", "c1", "d1")] == [2 - 1, 0, 1]
    turns.done(asked("c1"))
    assert turns.place(asked("d1")) == 0


def test_who_asks_what_is_being_run_is_next_and_takes_no_second_turn(turns):
    assert [turns.place(asked("a1")) for _ in range(3)] == [0, 1, 1]
    assert turns.place(asked("b1")) == 0
    turns.done(asked("a1"))
    assert turns.place(asked("a1")) == 0


def test_nobody_runs_twice_before_who_came_later_has_run_once(turns):
    for name in ("a1", "a2", "a3", "a4"):
        turns.place(asked(name))  # two of them run
    assert [turns.place(asked(name)) for name in ("b1", "c1")] == [1, 2]
    assert [turns.place(asked(name)) for name in ("a3", "a4")] == [3, 4]
    turns.done(asked("a1"))
    assert [turns.place(asked(name)) for name in ("a3", "c1", "b1")] == [2, 1, 0]


def test_a_visitor_has_only_so_many_places(turns):
    assert [turns.place(asked(f"a{i}")) for i in range(MOST_OF_ONE + 1)] == [0, 0, *range(1, MOST_OF_ONE - 1), None]
    assert turns.place(asked("b1")) == 1


def test_who_does_not_ask_again_has_left(turns, now):
    for name in ("a1", "b1", "c1", "d1"):
        turns.place(asked(name))
    now[0] += 8
    assert turns.place(asked("d1")) == 2
    now[0] += 8
    assert turns.place(asked("d1")) == 1  # c is gone, a and b run
    now[0] += 200
    assert turns.place(asked("e1")) == 0


@pytest.mark.exhaustive
def test_what_a_process_held_that_was_killed_is_free_again(tmp_path):
    file = tmp_path / "shared"
    turns = Turns(2, file)
    take = (
        "import sys; from pathlib import Path; from smemviz.engines.sandbox.sharing import Ticket, Turns; "
        "turns = Turns(2, Path(sys.argv[1])); "
        "print([turns.place(Ticket('a', name)) for name in 'xyz'], flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", take, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "[0, 0, 1]\n"
        assert turns.place(asked("b1")) == 1  # two of a run, and b comes before the third
        other.kill()
    assert turns.place(asked("b1")) == 0
    turns.close()


def test_a_file_that_cannot_be_written_is_said_at_once_and_later(tmp_path):
    with pytest.raises(MissingError, match=r"turns: cannot be written .unable to open database file.; let TMPDIR"):
        Turns(1, tmp_path / "nowhere" / "turns")
    turns = Turns(1, tmp_path / "turns")
    turns._database.execute("DROP TABLE turns")
    with pytest.raises(BusyError, match=r"the server cannot store its queue .no such table: turns"):
        turns.place(asked("a1"))
    turns.close()
