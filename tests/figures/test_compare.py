import csv
import io
from dataclasses import replace

import pytest
from helpers.measured import MEDIANS, measured_recording

from smemviz.figures.compare import time_bars, wavefront_bars
from smemviz.model.hardware.hardware import H200
from smemviz.views.comparison import Entry, Wavefronts, compared, headline, time_text, to_csv
from smemviz.wording.impact import Measured

RECORDING = measured_recording()


def entry(kernel, timed=True):
    launch = RECORDING[kernel]
    assert RECORDING.device is not None
    assert launch.time is not None
    measured = Measured(launch, launch.time, RECORDING.device, RECORDING.calibration) if timed else None
    return Entry(kernel, "square", launch, H200, "recorded on NVIDIA H200", measured)


SIX = compared([entry(kernel) for kernel in MEDIANS])
UNTIMED = compared([entry("set_row_read_row"), entry("set_col_read_col", timed=False)])


def bars(figure, name):
    (trace,) = (trace for trace in figure.data if trace.name == name)
    return [(base, length) for _, base, length in sorted(zip(trace.y, trace.base, trace.x, strict=True))]


def texts(figure):
    written = [
        pair for t in figure.data if t.type == "scatter" and t.mode == "text" for pair in zip(t.y, t.text, strict=True)
    ]
    return [text.strip() for _, text in sorted(written)]


def test_rows_hold_what_the_hardware_counts():
    assert [(row.wavefronts_by_kind["store"], row.wavefronts_by_kind["load"]) for row in SIX] == [
        (Wavefronts(32, 32), Wavefronts(32, 32)),
        (Wavefronts(1024, 32), Wavefronts(1024, 32)),
        (Wavefronts(32, 32), Wavefronts(1024, 32)),
        (Wavefronts(32, 32), Wavefronts(1024, 32)),
        (Wavefronts(32, 32), Wavefronts(32, 32)),
        (Wavefronts(32, 32), Wavefronts(32, 32)),
    ]
    assert [row.excess for row in SIX] == [0, 1984, 992, 992, 0, 0]
    assert [row.degree for row in SIX] == [1, 32, 32, 32, 1, 1]
    assert [row.sectors for row in SIX] == [128] * 6
    assert [round(row.against_best or 0, 3) for row in SIX] == [1.0, 2.333, 1.667, 1.533, 1.067, 1.2]


def test_the_headline_holds_the_slowest_against_the_fastest():
    assert headline(SIX) == "set_col_read_col takes 2.33 times as long as set_row_read_row"
    assert headline(UNTIMED) == "set_col_read_col takes 2,048 wavefronts, set_row_read_row 64"
    assert headline(compared([entry("set_row_read_row", False), entry("set_row_read_col_pad", False)])) == (
        "64 wavefronts each"
    )


def test_the_excess_stands_after_the_ideal_hatched_and_told_in_numbers():
    figure = wavefront_bars(SIX[:3])
    assert bars(figure, "ideal") == [(0, 32)] * 6
    assert bars(figure, "excess") == [(32, 992)] * 3  # of five kernels with none there is no bar
    (excess,) = (trace for trace in figure.data if trace.name == "excess")
    assert excess.marker.pattern.shape == "/"
    assert texts(figure) == [
        "set_row_read_row", "32", "32",
        "set_col_read_col", "1,024 (992 excess)", "1,024 (992 excess)",
        "set_row_read_col", "32", "1,024 (992 excess)",
    ]  # fmt: skip
    assert figure.layout.yaxis.ticktext == ("store", "load") * 3


def test_a_time_has_floor_net_and_interval():
    figure = time_bars(SIX)
    assert bars(figure, "floor") == [(0, 0.5)] * 6
    assert bars(figure, "net") == [(0.5, pytest.approx(median - 0.5)) for median in MEDIANS.values()]
    (whiskers,) = (trace for trace in figure.data if trace.name == "95 % interval")
    assert whiskers.error_x.array == pytest.approx([0.002] * 6)
    assert whiskers.error_x.arrayminus == pytest.approx([0.002] * 6)
    assert texts(figure)[:4] == ["set_row_read_row", "0.750 µs · 1.00 x", "set_col_read_col", "1.750 µs · 2.33 x"]


def test_a_launch_without_a_time_says_so():
    assert texts(time_bars(UNTIMED)) == ["set_row_read_row", "0.750 µs · 1.00 x", "set_col_read_col", "not measured"]
    nothing = time_bars(compared([entry("set_row_read_row", timed=False)]))
    assert nothing.layout.annotations[0].text == "No time was measured."
    assert [time_text(row) for row in UNTIMED] == ["0.750 µs", "not measured"]


def test_the_two_pictures_stand_beside_each_other_line_by_line():
    one, other = wavefront_bars(SIX), time_bars(SIX)
    assert one.layout.height == other.layout.height
    assert one.data[-1].y == other.data[-1].y
    assert one.data[-1].text == other.data[-1].text == tuple(MEDIANS)


def test_every_launch_has_the_same_room():
    for launches in [2, 20]:
        figure = wavefront_bars(compared([entry("set_col_read_col")] * launches))
        assert figure.layout.height == launches * 78 + 94
        assert figure.layout.margin.r + figure.layout.margin.l < 200  # leaves half of a 400 px screen to the bars


def test_a_long_text_beside_the_longest_bar_has_room():
    most = {**SIX[1].wavefronts_by_kind, "load": Wavefronts(1_048_576, 32_768)}
    figure = wavefront_bars([SIX[0], replace(SIX[1], wavefronts_by_kind=most)])
    assert "1,048,576 (1,015,808 excess)" in texts(figure)  # 28 characters and a space, 6 pixels each
    assert figure.layout.margin.r == 29 * 6
    assert wavefront_bars(SIX).layout.margin.r == 118


def test_the_csv_quotes_what_it_must_and_says_where_numbers_are_from():
    rows = compared([replace(entry("set_col_read_col"), name='a "name", quoted'), entry("set_row_read_row", False)])
    text = to_csv(rows)
    assert '"a ""name"", quoted"' in text
    first, second = csv.DictReader(io.StringIO(text, newline=""))
    assert first["launch"] == 'a "name", quoted'
    columns = ("store_wavefronts", "load_wavefronts", "excess", "max_degree", "shared_bytes", "sectors")
    assert [first[name] for name in columns] == ["1024", "1024", "1984", "32", "4096", "128"]
    assert (first["median_us"], first["net_us"], first["excess_us"]) == ("1.75", "1.25", "1.0")
    assert first["requests_from"] == "recorded on NVIDIA H200"
    assert first["time_from"] == "measured on NVIDIA H200, driver 580.159, 2025-11-21T03:00:00+00:00"
    assert (second["median_us"], second["time_from"]) == ("", "not measured")
