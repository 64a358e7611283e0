"""Recordings in which anything may have been changed: each is refused in one line, or all that shows it works."""

import io
import json
import zipfile
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from helpers.strategies import a_launch, a_recording, totals
from hypothesis import given
from hypothesis import strategies as st

from smemviz.errors import InputError, SmemvizError
from smemviz.figures.elements import shown_array, touched_elements
from smemviz.figures.registry import EXPORTED, FIGURES
from smemviz.figures.tile import thumbnail
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback import worst_request
from smemviz.recordings.archive import write_members
from smemviz.recordings.file import load
from smemviz.recordings.measured import Calibration, SiteHardware, Timing
from smemviz.reports.files import write_report, write_table, write_trace
from smemviz.reports.notebook import to_html
from smemviz.reports.pictures import picture
from smemviz.reports.recording import print_recording
from smemviz.reports.selection import Choice
from smemviz.views.published_findings import published

DATE = "2026-01-31T12:00:00+00:00"
INTEGERS = (0, -1, 1, 3, 31, 33, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 53, 1 << 62, (1 << 63) - 1, 1 << 63, 1 << 70)
FLOATS = (0.0, -1.0, 1e-300, 1e308, float("nan"), float("inf"))
TEXTS = ("", "\ud800", "\x1b[2J", "a\nb", "<script>", "[/bold]", "{x}", "V7", "float16", "complex64", "store", "global")
TEXTS += ("atomic_add", "ldmatrix_x4", "reduce_inc", "reverse.py", "latency.py", "2026-01-01", "=1", "행")
VALUES = (*INTEGERS, *FLOATS, *TEXTS, None, True, [], {}, [[]])
Place = tuple[str | int, ...]


def rich_recording():
    """Make a recording up that has something of everything."""
    time = Timing(1.5, 1.4, 1.6, 1.3, 1.7, 0.5, 2, 10, (1.4, 1.6), False, DATE, {"SM clock": "1980 MHz"}, ("a note",))
    shared = SiteHardware(4, 8, 4, None, "explained", "a bank has two words")
    moved = SiteHardware(4, None, None, 16, "agrees", "as recorded")
    launch = replace(a_launch(6), time=time, hardware=(shared, shared, moved), counters={"a.sum": 3.0})
    addresses = launch.requests.addresses  # where the arrays are, as an honest recording has them
    addresses[:] = np.where(launch.requests.site[:, np.newaxis] < 2, 1024, 1 << 40) + np.arange(32) * 4
    device = a_recording().device
    assert device is not None
    made = a_recording(launch, replace(launch, kernel="static_reverse", totals=totals(launch)))
    return replace(made, calibration=Calibration(device, DATE, {"load 4": 2.0}, ()), constants={"LONG": 9, "SHORT": 3})


@cache
def honest_members(folder):
    rich_recording().save(folder / "honest.smem.npz")
    with zipfile.ZipFile(folder / "honest.smem.npz") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def places(value, place=()):
    """Return where every value of a document stands."""
    if place:
        yield place
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*place, key))


def change_metadata(data, metadata):
    """Change, leave out or repeat one value of a document."""
    *folder, last = data.draw(st.sampled_from(list(places(metadata))))
    parent = metadata
    for key in folder:
        parent = parent[key]
    how = data.draw(st.sampled_from(("change", "change", "change", "drop", "repeat")))
    if how == "drop":
        del parent[last]
    elif how == "repeat" and isinstance(parent, list):
        parent.append(parent[last])
    else:
        same = [value for value in VALUES if type(value) is type(parent[last])]
        parent[last] = data.draw(st.sampled_from(same * 4 + list(VALUES)))


def change_column(data, members):
    """Change one number of a column, a row or all of it."""
    name = data.draw(st.sampled_from([name for name in members if name.endswith(".npy")]))
    column = np.lib.format.read_array(io.BytesIO(members[name]))
    real = column.dtype.kind == "f"
    column = column.astype(np.float64 if real else np.int64)
    value = data.draw(st.sampled_from(FLOATS if real else [n for n in INTEGERS if n < 1 << 63]))
    row = data.draw(st.integers(0, len(column) - 1))
    column[data.draw(st.sampled_from([(row,), (row, 0)[: column.ndim], ()]))] = value
    content = io.BytesIO()
    np.lib.format.write_array(content, column, (1, 0), False)
    members[name] = content.getvalue()


def uses(recording, folder):
    """Return what can be done with a recording."""
    hardware = Hardware.of(recording)
    found: dict[str, Callable[[], object]] = {
        "show": lambda: print_recording(recording, hardware),
        "show as another": lambda: print_recording(recording, Hardware((3, 5), 8)),
        "json": lambda: print_recording(recording, hardware, as_json=True),
        "report": lambda: write_report(folder / "r.html", recording, Choice(), hardware, None),
        "trace": lambda: write_trace(folder / "r.json", recording, Choice(), hardware),
        "parquet": lambda: write_table(folder / "r.parquet", recording, Choice(), "lanes", hardware),
        "notebook": lambda: to_html(recording),
        "published": lambda: published(recording),
        "thumbnails": lambda: [thumbnail(launch) for launch in recording.launches],
        "elements": lambda: [
            touched_elements(now, shown_array(now, None))
            for now in (worst_request(launch, hardware) for launch in recording.launches)
        ],
        "save": lambda: recording.save(folder / "again.smem.npz"),
    }
    for rows in ("lanes", "requests", "sites"):
        found[f"csv of {rows}"] = lambda rows=rows: write_table(folder / "r.csv", recording, Choice(), rows, hardware)
    for name in EXPORTED:
        for view in FIGURES[name].views or (None,):
            found[f"{name} {view}"] = lambda name=name, view=view: picture(
                recording, name, view=view, hardware=hardware
            )
    return found


@given(data=st.data())
def test_whatever_was_changed_it_is_refused_or_shown(data, tmp_path):
    members = dict(honest_members(tmp_path))
    metadata = json.loads(members["metadata.json"])
    for _ in range(data.draw(st.integers(1, 2))):
        if data.draw(st.integers(0, 3)):
            change_metadata(data, metadata)
        else:
            change_column(data, members)
    members["metadata.json"] = json.dumps(metadata).encode()
    path = tmp_path / "changed.smem.npz"
    write_members(path, members)
    done = "load"
    try:
        recording = load(path)
        wanted = uses(recording, tmp_path)
        done = data.draw(st.sampled_from(list(wanted)))
        with redirect_stdout(io.StringIO()):
            wanted[done]()
    except SmemvizError as error:
        assert "\n" not in str(error), done  # noqa: PT017  either outcome is right; a traceback is not


def test_all_of_it_works_for_one_that_is_honest(tmp_path):
    recording = rich_recording()
    with redirect_stdout(io.StringIO()):
        for name, use in uses(recording, tmp_path).items():
            no_layout = pytest.raises(InputError, match="No other layout was found")
            with no_layout if name.startswith("stage") else nullcontext():
                use()
