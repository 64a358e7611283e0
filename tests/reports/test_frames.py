"""Recordings and launches as tables of pandas."""

import sys
from pathlib import Path

import pandas as pd
import pytest
from helpers.gallery import h200

from smemviz.errors import InputError, MissingError
from smemviz.reports.data_tables import COLUMNS


@pytest.fixture(scope="module")
def square():
    return h200("square")


def test_a_recording_is_a_table_of_its_sites(square):
    table = square.to_pandas()
    assert tuple(table.columns) == COLUMNS["sites"]
    assert len(table) == sum(len(launch.sites) for launch in square)
    worst = table.loc[table["excess"].idxmax()]
    assert (Path(worst["file"]).name, worst["kernel"], worst["line"]) == ("square.py", "set_col_read_col", 38)
    assert table.groupby("kernel")["excess"].sum()["set_row_read_col"] == 992


def test_integers_stay_integers_where_some_are_missing(square):
    table = square.to_pandas()
    assert table["wavefronts"].dtype == "Int64"
    assert table["efficiency"].dtype == "float64"
    global_sites = table[table["space"] == "global"]
    assert global_sites["wavefronts"].isna().all()
    assert global_sites["sectors"].tolist() == [128] * 6


def test_a_row_may_be_a_request_or_a_lane(square):
    requests = square.to_pandas("requests")
    assert len(requests) == sum(len(launch.requests) for launch in square) == 576
    assert len(square.to_pandas("lanes")) == 576 * 32
    with pytest.raises(InputError, match="rows='warps': a row is one of 'lanes', 'requests', 'sites'"):
        square.to_pandas("warps")  # type: ignore[arg-type]


def test_a_launch_has_all_but_what_only_its_recording_knows(square):
    table = square["set_row_read_col"].to_pandas()
    assert list(table.columns) == [name for name in COLUMNS["sites"] if name not in ("launch", "file")]
    assert table["source"].tolist() == ["tile[ty, tx]", "tile[tx, ty]", "out[idx]"]
    assert table["wavefronts"].tolist() == [32, 1024, pd.NA]


def test_counts_are_of_the_hardware_that_is_asked_for(square):
    old = square.to_pandas(cc=(3, 5))
    assert old["wavefronts"].equals(square.to_pandas()["wavefronts"]) is False
    with pytest.raises(InputError, match=r"4\.2"):
        square["set_row_read_col"].to_pandas(cc=(4, 2))


def test_without_pandas_a_line_says_what_to_install(square, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setattr("smemviz.reports.data_tables.find_spec", lambda name: None)
    with pytest.raises(MissingError, match=r"^to_pandas needs pandas: pip install pandas$"):
        square.to_pandas()
