from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from swept import CARD, SIZES, at_rate, sweep

from smemviz.errors import InputError
from smemviz.sweep_file import joined, load_sweep, parse_sweep, save_sweep, sweep_facts


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "matmul.sweep.json"
    save_sweep(sweep(), path)
    assert load_sweep(path) == sweep()


def test_a_point_has_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "matmul.sweep.json"
    save_sweep(sweep(), path)
    lines = [line for line in path.read_text().splitlines() if line.startswith('  {"kernel"')]
    assert len(lines) == len(sweep().points)


def test_a_rate_is_operations_by_time() -> None:
    assert at_rate("tiled", SIZES[1], 25e12).rate == pytest.approx(25e12)


def test_points_measured_again_are_replaced_and_the_others_kept() -> None:
    again = replace(sweep(), points=(at_rate("tiled", SIZES[0], 30e12), at_rate("tiled", SIZES[0], 9e12, tile=8)))
    both = joined(sweep(), again)
    rates = [p.rate for p in both.points if p.kernel == "tiled" and p.size == SIZES[0]]
    assert rates == pytest.approx([30e12, 9e12])
    assert len(both.points) == len(sweep().points) + 1
    assert [ceiling.name for ceiling in both.ceilings] == [ceiling.name for ceiling in sweep().ceilings]


@pytest.mark.parametrize(
    "other",
    [replace(sweep(), sha256="1" * 64), replace(sweep(), device=replace(CARD, name="another"))],
)
def test_sweeps_of_another_card_or_source_are_not_joined(other: object) -> None:
    with pytest.raises(InputError, match="another card, or of another version"):
        joined(sweep(), other)  # type: ignore[arg-type]


def without(name: str) -> str:
    facts = sweep_facts(sweep())
    del facts["points"][0][name]
    return json.dumps(facts)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "its schema is not 1"),
        ('{"schema": 2}', "its schema is not 1"),
        ('{"schema": 1}', "sweep has no file"),
        ("{", "Expecting property name"),
        ("[" * 100_000, "nested too deeply"),
        (without("kernel"), r"sweep.points\[0\] has no kernel"),
    ],
)
def test_what_is_no_sweep_is_refused_in_words(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_sweep(text)


def test_a_file_that_is_no_sweep_is_named(tmp_path: Path) -> None:
    path = tmp_path / "no.sweep.json"
    path.write_text("no")
    with pytest.raises(InputError, match=r"no\.sweep\.json: is not a sweep: .*; run smemviz sweep again"):
        load_sweep(path)
