"""Every count that Nsight Compute made on an H200, one warp and one access per launch."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from smemviz.model.counting.service import assign, count, sectors, wavefronts
from smemviz.model.hardware.operations import basis

Key = tuple[str, str, int]


def read_counters() -> dict[Key, np.ndarray]:
    """Return rows of (measured, lane 0 .. lane 31) by space, operation and width."""
    rows: dict[Key, list[list[int]]] = {}
    with (Path(__file__).parents[1] / "data" / "h200_counters.csv").open(newline="") as file:
        for space, op, width, *numbers in list(csv.reader(file))[1:]:
            rows.setdefault((space, op, int(width)), []).append([int(n) for n in numbers])
    return {key: np.array(value) for key, value in rows.items()}


COUNTERS = read_counters()
SHARED = [key for key in COUNTERS if key[0] == "shared"]


def test_the_file_holds_all_measurements() -> None:
    assert sum(map(len, COUNTERS.values())) == 1660


@pytest.mark.parametrize("key", COUNTERS, ids=lambda key: "-".join(map(str, key)))
def test_the_model_counts_what_the_hardware_counted(key: Key) -> None:
    space, op, width = key
    measured, addresses = COUNTERS[key][:, 0], COUNTERS[key][:, 1:]

    counted = sectors(addresses, width) if space == "global" else wavefronts(addresses, width, op)

    np.testing.assert_array_equal(counted, measured)


@pytest.mark.parametrize("key", SHARED, ids=lambda key: "-".join(map(str, key)))
def test_as_many_wavefronts_are_assigned_as_the_hardware_counted(key: Key) -> None:
    _, op, width = key
    assigned = assign(COUNTERS[key][:, 1:], width, op).reshape(len(COUNTERS[key]), -1)

    different = [len(set(row.tolist()) - {-1}) for row in assigned]

    assert different == COUNTERS[key][:, 0].tolist()


@pytest.mark.parametrize("key", SHARED, ids=lambda key: "-".join(map(str, key)))
def test_the_hardware_never_beat_the_ideal(key: Key) -> None:
    _, op, width = key
    assert (count(COUNTERS[key][:, 1:], width, op).ideal <= COUNTERS[key][:, 0]).all()


def test_measured_are_exactly_the_operations_and_widths_in_the_file() -> None:
    from smemviz.model.hardware.operations import effect_of
    from smemviz.recordings.vocabulary import OPERATIONS, WIDTHS

    for op in OPERATIONS:
        for width in (16,) if "matrix" in op else (4,) if effect_of(op) == "update" else WIDTHS:
            expected = "measured" if ("shared", op, width) in COUNTERS else "assumed"
            assert basis(op, width).kind == expected, (op, width)
