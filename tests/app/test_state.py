from __future__ import annotations

import pytest

from smemviz.app.state import LookState, RunState
from smemviz.model.hardware.hardware import Hardware


def test_upper_case_names_are_constants_and_the_rest_is_read_by_name() -> None:
    state = RunState.read(
        {"file": "square", "kernel": "k", "launch": "2", "IPAD": "2", "_N": "3", "cc": "8.6", "x": "1"}
    )
    assert state == RunState("square", "k", 2, {"IPAD": "2", "_N": "3"}, None, Hardware((8, 6)))


def test_what_makes_no_sense_is_left_out() -> None:
    state = RunState.read({"file": "square", "launch": "-1", "source": "guess", "cc": "99.9"})
    assert state == RunState("square")
    look = LookState.read({"block": "x", "warp": "1e9", "step": "9" * 20, "view": "?", "banks": "0", "theme": "pink"})
    assert look == LookState()


@pytest.mark.parametrize(
    ("text", "hardware"),
    [("9.0", Hardware()), ("3.5", Hardware((3, 5), 4)), ("3.5-8", Hardware((3, 5), 8)), ("1.3", Hardware((1, 3)))],
)
def test_hardware_reads_back_as_it_was_written(text: str, hardware: Hardware) -> None:
    assert RunState.read({"cc": text}).hardware == hardware
    assert hardware.key == text


def test_a_bank_mode_the_part_does_not_have_is_ignored() -> None:
    assert RunState.read({"cc": "9.0-8"}).hardware == Hardware((9, 0), 4)
