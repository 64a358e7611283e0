"""The layout lab and the page of all GPUs, in a browser and without; numbers are those of the H200 and the guides."""

import json
from dataclasses import asdict, replace
from urllib.parse import parse_qs, urlsplit

from dash.development.base_component import Component
from helpers.gallery import RECORDINGS

from smemviz.app.pages.gpus_page import view_gpus
from smemviz.app.pages.layouts.lab_state import LabState
from smemviz.app.pages.layouts.lab_view import errors_of, view_lab, view_layouts
from smemviz.recordings import calibration
from smemviz.recordings.calibration import load_calibration
from smemviz.views.layout_lab import picture

FLOATS = {"A": "32x32 float32", "A-access": "row; op=store\ncolumn", "B": "32x32 float32; pad=1"}


def text(component):
    if isinstance(component, list | tuple):
        return " ".join(filter(None, map(text, component)))
    return text(getattr(component, "children", None)) if isinstance(component, Component) else str(component or "")


# What the URL asks for


def test_without_a_query_it_is_a_tile_written_by_rows_and_read_by_columns():
    """32 wavefronts for the rows, 32 x 32 for the columns: HARDWARE rules, 32 banks of 4 bytes."""
    filling = view_lab({})
    assert filling["lab-headline.children"] == "32-way conflict, 1,056 wavefronts where 64 would do"
    assert filling["lab-A-sentence.children"] == (
        "Column load, request 1 of 32. Warp 0, step 0: 32 lanes, 32-way: 32 wavefronts where 1 would do."
    )
    assert filling["lab-A-counts.children"].data["body"] == [
        ["row store", "32", "32", "32", "1-way", "0"],
        ["column load", "32", "1,024", "32", "32-way", "126,976"],
        ["all", "64", "1,056", "64", "32-way", "126,976"],
    ]
    assert filling["lab-A-lanes.children"].data["body"][31] == ["31", "[31, 0]", "3,968", "0", "32"]


def test_known_layouts_cost_what_is_known_of_them():
    for query, said in [
        (FLOATS, "A: 32-way conflict, 1,056 wavefronts where 64 would do; B: no conflict, 64 wavefronts"),
        # Conflict-free only because 8-byte accesses are served 16 lanes at a time.
        ({"A": "32x32 float64; pad=1", "A-access": "column"}, "No conflict, 64 wavefronts"),
        # 16 bytes a lane are 8 lanes at a time: 4 wavefronts a request and no excess.
        ({"A": "32x32 float32", "A-access": "row; width=16"}, "No conflict, 32 wavefronts"),
        (
            {"A": "16x32 int32", "A-access": "column", "B": "16x32 int32; pad=2"},
            "A: 16-way conflict, 256 wavefronts where 16 would do; B: no conflict, 16 wavefronts",
        ),
        # The same column is 8-way where banks are 8 bytes wide (CUDA programming guide, 3.x).
        ({"A": "16x32 int32", "A-access": "column", "cc": "3.5-8"}, "8-way conflict, 128 wavefronts where 16 would do"),
        (
            {
                "A": "32x64 float16",
                "A-access": "matrices; op=ldmatrix_x4",
                "B": "32x64 float16; swizzle=Swizzle<3, 3, 3>",
            },
            "A: 8-way conflict, 256 wavefronts where 32 would do; B: no conflict, 32 wavefronts",
        ),
        # 1.x serves half-warps: twice the wavefronts of a row.
        (
            FLOATS | {"B-cc": "1.3", "B-access": "row"},
            "A: 32-way conflict, 1,056 wavefronts where 64 would do; B: no conflict, 64 wavefronts",
        ),
    ]:
        assert view_lab(query)["lab-headline.children"] == said


def test_what_is_wrong_is_said_at_its_field_in_one_line():
    for query, field, said in [
        (
            {"A": "32y32 float32"},
            ("shape", 0),
            "'32y32' is not a shape; write whole numbers with x between them, as 32x33",
        ),
        ({"A": "32x32 float31"}, ("dtype", 0), "'float31' is not a dtype"),
        ({"A": "32x32; pitch=31"}, ("pitch", 0), "pitch is 31; a row has 32 elements"),
        ({"A": "32x32 float64; base=4"}, ("base", 0), "base is byte 4; float64 starts at a multiple of 8"),
        ({"A": "32x32; swizzle=xor 6"}, ("swizzle", 0), "permutes 64 columns, the row has room for 32"),
        ({"A": "32x32; swizzle=column ^ rows"}, ("swizzle", 0), "rows is not known here; there are row, column"),
        ({"A": "32x32; swizzle=__import__('os')"}, ("swizzle", 0), "cannot be used in a formula"),
        ({"A-access": "row\nlane / 2, 0"}, ("pattern", 1), "cannot be used in a formula"),
        ({"A-access": "lane, 32"}, ("pattern", 0), "asks for index 32, outside of 32x32 float32"),
        ({"A-access": "row; op=ldmatrix_x4"}, ("pattern", 0), "ldmatrix_x4 cannot be used with row"),
        ({"A-access": "matrices; op=ldmatrix_x4", "cc": "7.0"}, ("pattern", 0), "it came with 7.5"),
        ({"cc": "9.9"}, ("cc", 0), "compute capability 9.9 is not in the table"),
        ({"A": "32x32; colour=red"}, ("shape", 0), "'colour=red' is not an option"),
    ]:
        side = LabState.read(query).sides["A"]
        assert side.setup is None
        assert list(side.errors) == [field]
        assert said in side.errors[field]
        assert "\n" not in side.errors[field]
        ids = [{"side": "A", "name": field[0], "at": field[1]}, {"side": "B", "name": field[0], "at": field[1]}]
        assert errors_of(query, ids) == [side.errors[field], ""]
        assert view_lab(query)["lab-headline.children"] == "This cannot be counted"
        assert view_layouts(query)["lab-results.children"] == []


def test_a_set_up_that_is_wrong_leaves_the_other_alone():
    filling = view_lab(FLOATS | {"A": "32x32; pad=x"})
    assert filling["lab-headline.children"] == "B: no conflict, 64 wavefronts"
    assert filling["lab-A-results.className"] == "panel lab-side old"
    assert "lab-A-tile.data" not in filling
    assert filling["lab-B-results.className"] == "panel lab-side"
    assert filling["lab-B-pictures.hidden"] is False


def test_both_set_ups_picture_the_same_request():
    filling = view_lab(FLOATS | {"ACCESS": "2", "REQUEST": "5"})
    assert filling["lab-A-sentence.children"].startswith("Column load, request 5 of 32.")
    assert filling["lab-B-sentence.children"].startswith("Column load, request 5 of 32.")
    assert filling["lab-shown.data"] | {"options": None} == {
        "ACCESS": "2",
        "REQUEST": 5,
        "VIEW": "index",
        "count": 32,
        "options": None,
    }


def test_the_search_gives_code_and_a_link_that_puts_it_into_b():
    filling = view_layouts(FLOATS)
    assert filling["lab-results-note.children"] == (
        "The cheapest, xor 5 0 0 (column ^ row), takes 64 wavefronts instead of 1,056, in as many bytes."
    )
    said = text(filling["lab-results.children"])
    assert "pad 1 32 32 64 0 4,224 32 0 tile = cuda.shared.array((32, 33), float32)" in said
    assert "tile[row, column ^ row] = value" in said
    row = filling["lab-results.children"].children[2].children[1]
    href = parse_qs(urlsplit(row.children[0].children.href).query)
    assert href["B"] == ["32x32 float32; swizzle=xor 5 0 0"]
    assert href["A-access"] == ["row; op=store", "column"]


# Every GPU


def rows(filling):
    body = filling["gpus-table.children"].children[2].children  # type: ignore[attr-defined]
    return {text(row.children[0]): [text(cell) for cell in row.children[1:]] for row in body}


def test_every_part_counts_an_access_of_the_lab_and_says_why_it_differs(served):
    """A column of 16 x 32 ints: 16-way, 8-way in either mode of 3.x (CUDA programming guide), half-warps on 1.x."""
    filling = view_gpus(served, {"A": "16x32 int32", "A-access": "column"}, {})
    assert filling["gpus-headline.children"] == "128 to 512 wavefronts, depending on the GPU"
    found = rows(filling)
    assert len(found) == 9  # Ada to Maxwell are one, Kepler two, and there are two cards that were calibrated
    assert found["Hopper 9.0"][:4] == ["256", "16", "16-way", "Reference."]
    assert found["Hopper 9.0"][4] == "measured Counted by Nsight Compute on an H200; an H100 counts the same."
    ada = next(name for name in found if name.startswith("Ada"))
    assert ada.endswith("Maxwell 5.0 to 8.9")
    assert found[ada][:4] == ["256", "16", "16-way", "The same rules."]
    assert found["Kepler, 8-byte banks 3.0, 3.2, 3.5, 3.7"][:4] == [
        "128",
        "16",
        "8-way",
        "Bank mode: banks of 8 bytes, two words side by side are one: 256 → 128 wavefronts.",
    ]
    assert found["Tesla 1.0, 1.1, 1.2, 1.3"][3] == (
        "Phases: 4-byte accesses are served 16 lanes at a time, not 32: 256 → 512 wavefronts. "
        "No difference here: 16 banks, not 32."
    )


def test_what_a_wide_access_rests_on_is_told_part_by_part(served):
    filling = view_gpus(served, {"A": "32x32 float64", "A-access": "row; width=16"}, {})
    found = rows(filling)
    kinds = {name: cells[4].split()[0] for name, cells in found.items() if cells[4]}
    assert {kinds[name] for name in kinds if name.startswith(("Kepler", "Fermi", "Ampere", "Blackwell"))} == {"assumed"}
    assert kinds["Hopper 9.0"] == "measured"
    assert found["Fermi 2.0, 2.1"][:3] == ["128", "128", "2-way"]
    assert found["Fermi 2.0, 2.1"][3].startswith(
        "Phases: an access of 16 bytes takes one wavefront more for every 8 lanes: 64 → 128 wavefronts."
    )


def test_a_request_of_a_kernel_is_compared_with_the_part_it_is_counted_for(served):
    run = {"file": "square", "kernel": "set_row_read_col", "cc": "3.5-8"}
    filling = view_gpus(served, run, {"site": "1", "warp": "0", "step": "1"})
    link, compared = filling["gpus-origin.children"]
    assert text(link) == "tile[tx, ty] in set_row_read_col, load by warp 0, step 1"
    assert compared == "; compared with Kepler (3.5, 8-byte banks)."
    assert rows(filling)["Hopper 9.0"][3] == ("Bank mode: banks of 4 bytes, every word is its own: 16 → 32 wavefronts.")
    refused = view_gpus(served, run, {"site": "2"})
    assert refused["gpus-headline.children"] == "This cannot be compared"
    assert "goes to global memory" in text(refused["gpus-notices.children"])


def test_what_a_part_does_not_have_is_said_and_the_h200_stands_in(served):
    run = {"A": "32x64 float16", "A-access": "matrices; op=ldmatrix_x4", "cc": "3.5"}
    filling = view_gpus(served, run, {})
    assert filling["gpus-origin.children"][1] == "; compared with Hopper (9.0)."
    found = rows(filling)
    assert found["Volta 7.0, 7.2"][3] == "ldmatrix_x4 does not exist on compute capability 7.0; it came with 7.5"
    assert found["NVIDIA H200 9.0"][4] == (
        "assumed smemviz calibrate, 21 November 2026, did not measure ldmatrix x4 of 16 bytes; the rule is assumed."
    )


def test_a_card_that_was_calibrated_is_a_measured_row(served, monkeypatch, tmp_path):
    """What ``smemviz calibrate`` keeps in the user's folder is there at the next look; so is what deviates."""
    monkeypatch.setattr(calibration, "user_folder", lambda: tmp_path)
    one = load_calibration(RECORDINGS / "calibration.json")
    ada = replace(one, device=replace(one.device, name="NVIDIA Test Ada", compute_capability=(8, 9)))
    calibration.save_calibration(ada)
    assert (tmp_path / "nvidia-test-ada" / "calibration.json").is_file()
    run = {"A": "32x32 float32", "A-access": "column"}
    found = rows(view_gpus(served, run, {}))
    assert list(found)[list(found).index("Ada 8.9") + 1] == "NVIDIA Test Ada 8.9"
    assert found["Ada 8.9"][4].startswith("documented")
    assert found["NVIDIA Test Ada 8.9"] == [
        "1,024",
        "32",
        "32-way",
        "",
        "measured By the card's clock, 21 November 2026: all 5 assumptions about load of 4 bytes hold.",
    ]
    wrong = [replace(row, card="64", agrees=False) if row.what == "number of banks" else row for row in ada.rows]
    calibration.save_calibration(replace(ada, rows=tuple(wrong)))
    found = rows(view_gpus(served, run, {}))
    assert found["NVIDIA Test Ada 8.9"][3] == (
        "This card deviates, so the count may be wrong. number of banks: 64, the model has 32."
    )
    broken = tmp_path / "other" / "calibration.json"
    broken.parent.mkdir()
    broken.write_text(json.dumps(asdict(one))[:100])
    filling = view_gpus(served, run, {})
    assert "is not a calibration" in text(filling["gpus-notices.children"])
    assert "NVIDIA Test Ada 8.9" in rows(filling)


def test_a_request_that_is_not_there_gives_way_to_the_worst():
    setup = LabState.read(FLOATS).sides["A"].setup
    assert setup is not None
    shown = picture(setup, 7, 99)
    assert (shown.access, shown.request, shown.count) == (1, 0, 32)
