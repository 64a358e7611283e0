"""Tables of counts: in a terminal, one where it is wide and one for each space where it is narrow, and as data."""

import csv
import io
from dataclasses import replace
from typing import get_args

import pyarrow.parquet as pq
from helpers.strategies import totals
from rich.console import Console

from smemviz.model.hardware.hardware import H200
from smemviz.paths import installing
from smemviz.reports.data_tables import COLUMNS, Rows
from smemviz.reports.files import write_table
from smemviz.reports.selection import Choice
from smemviz.reports.terminal import launch_tables
from smemviz.views.columns import columns_in


def a_site(line, space, **counts):
    none = dict.fromkeys(column.name for column in columns_in("terminal"))
    place = {"line": line, "source": "tile[first + tx, ty]", "space": space, "op": "load", "width": 4, "calls": ()}
    return none | place | {"requests": 4294967296} | counts


LAUNCH = {
    "kernel": "k", "grid": [1, 1, 1], "block": [32, 32, 1], "shared_bytes": 4096, "dynamic_shared": 0, "file": "a.py",
    "sites": [
        a_site(7, "shared", wavefronts=137438953472, ideal=4294967296, excess=133143986176, max_degree=32),
        a_site(8, "global", sectors=17179869184, sectors_per_request=4.0, efficiency=1.0),
    ],
}  # fmt: skip


def printed(width):
    console = Console(file=io.StringIO(), width=width)
    for table in launch_tables("a.py", LAUNCH, {7}, 1, width):
        console.print(table, crop=False)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_terminal_of_80_columns_gets_a_table_for_each_space():
    assert [line for line in printed(80) if line and "─" not in line] == [
        "k: grid 1 x 1 x 1, block 32 x 32 x 1, 4096 bytes of shared memory",
        "shared memory",
        "                                                                               max    bytes",
        " line source   op   width   requests   wavefronts      ideal       excess   degree   wasted",
        "  ! 7 tile[fir load     4 4294967296 137438953472 4294967296 133143986176       32        -",
        "      st + tx,",
        "      ty]",
        "global memory",
        "                                                   sectors/r                bytes",
        " line source     op   width   requests     sectors    equest efficiency    wasted",
        "    8 tile[first load     4 4294967296 17179869184         4      100 %         -",
        "      + tx, ty]",
    ]


def test_no_number_is_broken_in_a_narrow_terminal():
    for width in [60, 80, 100, 140, 141, 175]:
        words = " ".join(printed(width)).replace("│", " ").split()
        assert {"4294967296", "137438953472", "133143986176", "17179869184"} <= set(words)
        assert ("space" in words) == (width >= 141)


def written(path, recording, rows, kernel=None):
    write_table(path, recording, Choice(kernel=kernel), rows, H200)
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_row_per_lane_holds_every_active_lane_of_every_request(square, tmp_path):
    rows = written(tmp_path / "lanes.parquet", square, "lanes", "set_row_read_col")
    assert len(rows) == 96 * 32
    launch = square["set_row_read_col"]
    assert [row["address"] for row in rows] == launch.requests.addresses.ravel().tolist()
    load = [row for row in rows if row["source"] == "tile[tx, ty]" and row["warp"] == 3]
    assert {row["bank"] for row in load} == {3}
    assert {(row["wavefronts"], row["ideal"], row["excess"], row["degree"], row["sectors"]) for row in load} == {
        (32, 1, 31, 32, None)
    }
    stored = [row["value"] for row in rows if row["op"] == "store" and row["space"] == "shared"]
    assert stored == [float(i) for i in range(1024)]


def test_rows_per_request_add_up_to_the_rows_per_site(square, tmp_path):
    requests = written(tmp_path / "requests.parquet", square, "requests")
    sites = written(tmp_path / "sites.parquet", square, "sites")
    assert len(requests) == sum(len(launch.requests) for launch in square.launches)
    for site in sites:
        own = [r for r in requests if all(r[name] == site[name] for name in ("launch", "line", "column", "op"))]
        assert len(own) == site["requests"]
        for count in ("wavefronts", "ideal", "excess", "sectors"):
            if site[count] is None:
                assert {r[count] for r in own} == {None}
            else:
                assert sum(r[count] for r in own) == site[count]
    assert sum(site["excess"] or 0 for site in sites) == 992 * 4  # README: two lines, and one of each transpose


def test_csv_and_parquet_say_the_same(square, tmp_path):
    for rows in get_args(Rows):
        exact = written(tmp_path / "a.parquet", square, rows, "set_row_read_col_pad")
        text = written(tmp_path / "a.csv", square, rows, "set_row_read_col_pad")
        assert list(exact[0]) == list(text[0]) == list(COLUMNS[rows])
        assert [{k: "" if v is None else str(v) for k, v in row.items()} for row in exact] == text


def test_a_row_says_how_many_requests_of_its_launch_have_none(square, tmp_path):
    launch = square["set_row_read_col"]
    cut = replace(square, launches=(replace(launch, totals=totals(launch, 100)),))
    for rows in get_args(Rows):
        (said,) = {
            (r["launch_requests"], r["launch_missing"]) for r in written(tmp_path / f"{rows}.parquet", cut, rows)
        }
        assert said == (396, 300)
    assert (
        b"300 of 396 requests were counted but not logged."
        in pq.read_schema(tmp_path / "lanes.parquet").metadata[b"missing"]
    )


def test_what_cannot_be_told_is_null_and_not_zero(square, tmp_path):
    launch = square["set_row_read_col"]
    store, _, out = launch.sites
    update = replace(store, op="atomic_add", dtype="float32")  # a loop that runs as often as the data say
    unknown = replace(launch, sites=(update, launch.sites[1], out))
    rows = written(tmp_path / "sites.parquet", replace(square, launches=(unknown,)), "sites")
    assert [row["wavefronts"] for row in rows] == [None, 1024, None]
    lanes = written(tmp_path / "requests.parquet", replace(square, launches=(unknown,)), "requests")
    assert {row["excess"] for row in lanes if row["op"] == "atomic_add"} == {None}


def test_parquet_without_pyarrow_says_what_to_install(export, square_file, tmp_path, monkeypatch):
    monkeypatch.setattr("smemviz.reports.data_tables.find_spec", lambda name: None)
    assert export(square_file, "-o", tmp_path / "a.parquet", code=3).err == (
        f"smemviz: Parquet needs pyarrow: {installing('parquet')}; a .csv needs nothing\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_no_text_is_a_formula_to_a_spreadsheet(square, tmp_path):
    launch = square.launches[0]
    site = replace(launch.sites[0], source="=HYPERLINK(1)", array="@a", function="-f")
    launch = replace(launch, kernel="+k", sites=(site, *launch.sites[1:]))
    path = tmp_path / "r.csv"
    write_table(path, replace(square, file="\t=f.py", launches=(launch,)), Choice(), "sites", H200)
    with path.open(encoding="utf-8", newline="") as file:
        row = next(csv.DictReader(file))
    assert {name: row[name] for name in ("file", "kernel", "source", "array", "function", "excess")} == {
        "file": "'\t=f.py",
        "kernel": "'+k",
        "source": "'=HYPERLINK(1)",
        "array": "'@a",
        "function": "'-f",
        "excess": "0",
    }


def test_a_spreadsheet_takes_nothing_of_a_recording_for_a_formula(square, tmp_path):
    launch = square["set_row_read_col"]
    sites = [
        replace(site, source=source)
        for site, source in zip(launch.sites, ("=cmd|' /C calc'!A0", "@SUM(1)", "-1+tile[0]"), strict=True)
    ]
    hostile = replace(square, launches=(replace(launch, sites=tuple(sites)),))
    rows = written(tmp_path / "sites.csv", hostile, "sites")
    assert [row["source"] for row in rows] == ["'=cmd|' /C calc'!A0", "'@SUM(1)", "'-1+tile[0]"]
    kept = written(tmp_path / "sites.parquet", hostile, "sites")  # which no spreadsheet reads as text
    assert kept[0]["source"] == "=cmd|' /C calc'!A0"
