"""What a recording shows of itself in a notebook."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from helpers.gallery import h200
from helpers.strategies import a_recording, totals

import smemviz


@pytest.fixture(scope="module")
def square():
    return h200("square")


def read(recording):
    """Parse what a notebook gets; table attributes are quoted nowhere else, so HTML is made XML first."""
    text = recording._repr_html_().replace("<br>", "<br/>")
    for name, value in (("scope", "col"), ("class", "conflict"), ("class", "finding")):
        text = text.replace(f"{name}={value}>", f'{name}="{value}">')
    return ET.fromstring(text)


def test_the_table_has_a_row_for_each_launch(square):
    rows = ["".join(f"{cell.text}|" for cell in row) for row in read(square).iter("tr")]
    assert (
        rows[0] == "launch|grid|block|shared requests|wavefronts|ideal|excess|degree|sectors|global bytes wasted|time|"
    )
    assert len(rows) == 7
    assert rows[3].startswith("set_row_read_col|1 x 1 x 1|32 x 32 x 1|64|1,056|64|992|32-way|128|0|1.")


def test_the_picture_is_of_the_worst_request(square):
    svg = next(read(square).iter("svg"))
    # set_col_read_col: 32 lanes in a column of one bank, the first 16 wavefronts of 32 drawn
    used = [rect for rect in svg.iter("rect") if rect.get("class") != "idle"]
    assert [rect.get("class") for rect in used] == ["b0"] * 16
    assert [text.text for text in svg.iter("text")][:16] == [str(lane) for lane in range(16)]
    assert "set_col_read_col: 1,984 excess wavefronts; worst: line 38, 32-way, half of them." in str(
        svg.get("aria-label")
    )
    assert "the first 16 of 32" in "".join(svg.itertext())


def test_it_is_small_and_asks_nothing_of_anyone(square):
    html = square._repr_html_()
    assert len(html) < 20_000
    for word in ("http", "<script", "url(", "@import", "src=", "href="):
        assert word not in html


def test_names_from_a_stranger_s_recording_are_text():
    evil = "<script>alert(1)</script>"
    recording = a_recording()
    launch = replace(recording.launches[0], kernel=evil)
    finding = replace(recording.findings[0], kernel=evil, message=evil)
    html = replace(recording, file=evil, launches=(launch,), findings=(finding,))._repr_html_()
    assert evil not in html
    assert html.count("&lt;script&gt;") >= 4


def test_launches_and_findings_beyond_the_first_are_counted():
    recording = a_recording()
    launches = tuple(replace(recording.launches[0], grid=(i, 1, 1)) for i in range(1, 26))
    several = tuple(replace(recording.findings[0], line=i) for i in range(1, 7))
    many = replace(recording, launches=launches, findings=several)
    text = "".join(read(many).itertext())
    assert "and 5 more launches" in text
    assert "and 1 more finding" in text
    assert len(list(read(many).iter("tr"))) == 21


def test_what_is_missing_is_said():
    launch = a_recording().launches[0]
    cut = replace(launch, totals=totals(launch))  # 1,000 more at each of three sites
    text = "".join(read(replace(a_recording(cut), unrecorded=7)).itertext())
    assert "7 more launches of the run not recorded, as asked" in text
    assert "3,000 requests were counted and not logged one by one" in text


def test_launches_that_are_alike_take_one_row():
    recording = a_recording()
    rows = list(read(replace(recording, launches=recording.launches * 25)).iter("tr"))
    assert len(rows) == 2
    assert rows[1][0].text == "set_row_read_col \N{MULTIPLICATION SIGN} 25"


def test_a_recording_of_global_memory_only_has_no_picture(tmp_path):
    path = tmp_path / "copy.py"
    path.write_text(
        "import numpy as np\nfrom numba import cuda\n\n@cuda.jit\ndef copy(a):\n    a[cuda.grid(1)] = 1\n\n"
        "copy[1, 32](np.zeros(32))\n"
    )
    page = read(smemviz.run(path, engine="lockstep"))
    assert list(page.iter("svg")) == []
    assert [cell.text for cell in page.iter("td")][7] == "global only"


def test_at_a_prompt_and_in_a_failed_test_a_recording_is_one_line(square):
    pad = square["set_row_read_col_pad"]
    assert repr(square).startswith(f"<Recording of {square.file} by gpu: 6 launches of set_row_read_row, set_col_")
    assert repr(pad) == "<Launch of set_row_read_col_pad: grid (1, 1, 1), block (32, 32, 1), 96 requests>"
    assert repr(pad.requests) == "<Requests: 96 logged>"


def test_a_launch_shows_its_row_and_its_worst_request(square):
    page = read(square["set_row_read_col"])
    text = "".join(page.itertext())
    assert "Wavefronts by the rule for compute capability 9.0, measured." in text
    assert [cell.text for cell in page.iter("td")][:5] == [
        "set_row_read_col",
        "1 x 1 x 1",
        "32 x 32 x 1",
        "64",
        "1,056",
    ]
    assert "line 53, tile[tx, ty]: load by warp 0, step 1: 32 lanes, 32 wavefronts where 1 would do." in text
    assert len(list(page.iter("svg"))) == 1
