"""The table of compute capabilities."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from smemviz.errors import InputError
from smemviz.model.counting.service import count
from smemviz.model.hardware.compute_capability import device, known
from smemviz.model.hardware.hardware import Hardware

KIB = 1024


def test_every_generation_has_its_rows() -> None:
    assert " ".join(row.name for row in known()) == (
        "1.0 1.1 1.2 1.3 2.0 2.1 3.0 3.2 3.5 3.7 5.0 5.2 5.3 6.0 6.1 6.2 7.0 7.2 7.5"
        " 8.0 8.6 8.7 8.9 9.0 10.0 10.1 10.3 11.0 12.0 12.1"
    )


# CUDA C++ programming guide, technical specifications per compute capability.
@pytest.mark.parametrize(
    ("cc", "static", "opt_in", "reserved", "threads"),
    [
        ((1, 3), 16, 16, 0, 512),
        ((2, 0), 48, 48, 0, 1024),
        ((3, 7), 48, 48, 0, 1024),
        ((5, 2), 48, 48, 0, 1024),
        ((6, 1), 48, 48, 0, 1024),
        ((7, 0), 48, 96, 0, 1024),
        ((7, 5), 48, 64, 0, 1024),
        ((8, 0), 48, 163, 1, 1024),
        ((8, 6), 48, 99, 1, 1024),
        ((8, 7), 48, 163, 1, 1024),
        ((8, 9), 48, 99, 1, 1024),
        ((9, 0), 48, 227, 1, 1024),
        ((10, 0), 48, 227, 1, 1024),
        ((12, 0), 48, 99, 1, 1024),
    ],
)
def test_limits(cc: tuple[int, int], static: int, opt_in: int, reserved: int, threads: int) -> None:
    row = device(cc)
    limits = (row.static_shared, row.opt_in_shared, row.reserved_shared, row.max_threads, row.warp_size)
    assert limits == (static * KIB, opt_in * KIB, reserved * KIB, threads, 32)


def test_banks_and_phases() -> None:
    assert (device((1, 0)).banks, device((1, 0)).bank_bytes) == (16, (4,))
    assert (device((3, 5)).banks, device((3, 5)).bank_bytes) == (32, (4, 8))
    assert (device((9, 0)).banks, device((9, 0)).bank_bytes) == (32, (4,))
    assert dict(device((9, 0)).phases) == {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}
    assert dict(device((2, 0)).phases) == {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}


def test_only_the_h200_was_measured() -> None:
    assert [row.name for row in known() if row.basis.kind == "measured"] == ["9.0"]


def test_what_the_guides_do_not_say_is_assumed() -> None:
    kinds = {row.name: [(row.wide.get(width) or row.basis).kind for width in (4, 8, 16)] for row in known()}
    assert kinds["1.3"] == ["documented"] * 3
    assert kinds["2.0"] == kinds["3.5"] == ["documented", "documented", "assumed"]
    since_maxwell = [name for name in kinds if device(tuple(map(int, name.split(".")))).cc >= (5, 0)]  # type: ignore[arg-type]
    assert [name for name in since_maxwell if kinds[name] != ["documented", "assumed", "assumed"]] == ["9.0"]
    assert kinds["9.0"] == ["measured"] * 3


def test_a_row_cannot_be_changed() -> None:
    row = device((9, 0))
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.banks = 16  # type: ignore[misc]
    with pytest.raises(TypeError):
        row.phases[4] = 16  # type: ignore[index]


@pytest.mark.parametrize(("cc", "shown"), [((4, 0), "4.0"), ((9,), "9")])
def test_an_unknown_compute_capability_lists_the_known(cc: object, shown: str) -> None:
    with pytest.raises(InputError) as refusal:
        device(cc)  # type: ignore[arg-type]
    assert str(refusal.value).startswith(f"compute capability {shown} is not in the table; it has: 1.0, 1.1, ")
    assert str(refusal.value).endswith(", 12.0, 12.1")


def test_totals_may_stand_for_every_part_since_maxwell() -> None:
    # What ``summarize`` relies on: one rule from 5.0 on.
    addresses = np.random.default_rng(5).integers(-1, 300, (200, 32)) * 16
    addresses[addresses < 0] = -1
    for width in (1, 2, 4, 8, 16):
        for op in ("load", "store"):
            expected = [column.tolist() for column in count(addresses, width, op)]
            for row in known():
                if row.cc >= (5, 0):
                    assert [column.tolist() for column in count(addresses, width, op, Hardware(row.cc))] == expected


@pytest.mark.parametrize(("cc", "shown"), [("9.0", "'9.0'"), ([9, 0], "[9, 0]"), (90, "90"), (9.0, "9.0")])
def test_what_is_no_compute_capability_says_how_one_is_written(cc: object, shown: str) -> None:
    with pytest.raises(InputError) as refusal:
        device(cc)  # type: ignore[arg-type]
    assert str(refusal.value) == f"a compute capability is two numbers, such as (9, 0); {shown} is not"
