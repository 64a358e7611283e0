"""What counts: the hardware that a recording was made on, else one default for all who ask."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from helpers.synthetic import square_recording

from smemviz.errors import InputError
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.recordings.data import Device


@pytest.mark.parametrize(
    ("made_on", "counted"),
    [((8, 6), Hardware((8, 6))), ((3, 5), Hardware((3, 5), 4)), ((9, 9), H200), (None, H200)],
)
def test_a_recording_is_counted_for_what_it_was_made_on_else_for_the_h200(
    made_on: tuple[int, int] | None, counted: Hardware
) -> None:
    card = Device("a card", made_on, "580.1", "13.0") if made_on else None
    assert Hardware.of(replace(square_recording(), device=card)) == Hardware.on(card) == counted


def test_what_derives_from_it() -> None:
    assert (H200.banks, H200.bytes_per_wavefront) == (32, 128)
    assert (Hardware((1, 3)).banks, Hardware((1, 3)).bytes_per_wavefront) == (16, 64)
    assert [Hardware((3, 5), mode).bytes_per_wavefront for mode in (4, 8)] == [256, 256]


def test_a_bank_mode_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match=re.escape("banks of compute capability 9.0 are 4 bytes wide, not 8")):
        _ = Hardware((9, 0), 8).banks
