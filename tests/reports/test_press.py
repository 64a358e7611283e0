import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.gallery import h200
from helpers.strategies import totals

from smemviz.errors import InputError
from smemviz.figures.drawing.style import THEMES, blend
from smemviz.figures.registry import EXPORTED
from smemviz.i18n import speaking
from smemviz.reports.pictures import picture
from smemviz.reports.print_layout import Sheet, print_layout
from smemviz.reports.selection import Choice

TRANSPOSE = Choice(kernel="set_row_read_col", line=53)
POINTS = 0.75  # of a CSS pixel


def drawn(recording, name, **more):
    return picture(recording, name, Choice() if name == "compare" else TRANSPOSE, **more)


def texts_of(figure):
    return {
        str(text): trace.textfont.size
        for trace in figure.data
        if trace.type == "scatter" and trace.mode == "text" and trace.visible is not False and trace.text is not None
        for text in trace.text
    }


def test_a_sheet_is_as_wide_as_asked_for_with_type_of_that_size():
    sheet = Sheet(8.0, 7.0)
    assert sheet.pixels * sheet.scale * 2.54 / 96 == pytest.approx(8.0, rel=2e-3)
    assert 12 * sheet.scale * POINTS == pytest.approx(7.0)


def test_lanes_are_numbers_that_the_key_explains_and_are_left_out_where_they_are_too_small(square):
    for name in ("tile", "banks"):
        tiny, small = (print_layout(drawn(square, name).figure, Sheet(width)).figure for width in (4.0, 8.0))
        assert not {str(lane) for lane in range(32)} & set(texts_of(tiny))
        assert {str(lane) for lane in range(32)} <= set(texts_of(small))
        keys = [{"7", "number = lane"} & {text.text for text in shown.layout.annotations} for shown in (tiny, small)]
        assert keys == [set(), {"7", "number = lane"}]  # a cell with a number in it
        assert small.layout.showlegend


def test_lanes_alone_in_their_cells_stand_in_the_middle_of_cells_as_high_as_wide(square):
    printed = print_layout(drawn(square, "banks").figure, Sheet(8.5))
    layout = printed.figure.layout
    across = (printed.width - layout.margin.l - layout.margin.r) / 32
    down = (printed.height - layout.margin.t - layout.margin.b) / 32
    assert down == pytest.approx(across, rel=0.02)
    wide = print_layout(drawn(square, "banks").figure, Sheet(17.8)).figure
    assert "number = lane, below it what it asks for" in {text.text for text in wide.layout.annotations}


def test_a_bar_of_32_steps_names_the_banks_where_columns_do_not(square):
    shown = drawn(square, "tile").figure
    assert [step.fillcolor for step in shown.layout.shapes] == blend(THEMES["light"].ramp, 32)
    assert [text.text for text in shown.layout.annotations] == ["bank", *map(str, range(0, 32, 4))]
    bottom = -shown.layout.margin.b
    assert all(bottom < step.y1 < step.y0 < -40 for step in shown.layout.shapes)  # below the title of the axis
    assert not drawn(square, "tile", view="physical").figure.layout.shapes


def test_a_line_of_the_source_stands_above_and_is_broken_where_it_is_long(square):
    shown = drawn(square, "tile")
    assert shown.line == "square.py:53  out[idx] = tile[tx, ty]"
    bare, told = print_layout(shown.figure, Sheet()), print_layout(shown.figure, Sheet(), line=shown.line)
    assert told.height == bare.height + 20
    assert "square.py:53  out[idx] = tile[tx, ty]" in {text.text for text in told.figure.layout.annotations}
    longer = print_layout(shown.figure, Sheet(), line=f"{shown.line} + {'tile[ty, tx] + ' * 4}0")
    assert longer.height == told.height + 15


def test_before_and_after_stand_in_a_column_or_side_by_side(square):
    heights = {}
    titles = {"<b>As written: 1,056 wavefronts in the launch</b>", "<b>Padded: 64 wavefronts in the launch</b>"}
    for view, width in (("column", 8.5), ("page", 17.8)):
        shown = picture(square, "stage", TRANSPOSE, view=view)
        printed = print_layout(shown.figure, Sheet(width), caption=shown.text, line=shown.line)
        heights[view] = printed.height
        sizes = texts_of(printed.figure)
        assert titles | {"32 wavefronts of this request", "1 wavefront of this request", "bank"} <= set(sizes)
        assert {str(lane) for lane in range(32)} <= set(sizes)
        assert sizes["31"] * printed.scale * POINTS >= 4.4
    assert heights["page"] < 0.6 * heights["column"]
    assert shown.caption == "set_row_read_col: pad the row of tile by 1, (32, 32) -> (32, 33) (128 bytes more)."


def test_what_lies_in_a_bin_is_drawn_over_it(square):
    """Before, 32 words in bank 0; after, one in each."""
    figure = picture(square, "stage", TRANSPOSE, view="page").figure
    ramp, order = blend(THEMES["light"].ramp, 32), [trace.fillcolor for trace in figure.data]
    bins = order.index(THEMES["light"].idle)
    assert set(order[bins + 1 : order.index(None)]) >= set(ramp[1:])
    words = [trace for trace in figure.data[bins + 1 :] if trace.fillcolor == ramp[0]][-1]
    assert len(words.x) == 6 * (32 + 1)


def test_words_too_small_to_read_are_left_out_and_come_with_a_wider_sheet(square):
    narrow, wide = (texts_of(print_layout(drawn(square, "banks").figure, Sheet(width)).figure) for width in (8.0, 18.0))
    assert "992" not in narrow  # the word of lane 31
    assert "992" in wide


def test_the_key_is_broken_into_rows_that_fit(square):
    shown = drawn(square, "tile").figure
    narrow, wide = print_layout(shown, Sheet(8.0)).figure, print_layout(shown, Sheet(24.0)).figure
    names = {t.name: t.legend for t in narrow.data if t.name}
    assert names == {
        "lane of this request": None,  # there is none that is not in conflict
        "lane in conflict: bold, corner marked": "legend",
    }
    (number,) = (text for text in narrow.layout.annotations if text.text == "7")
    assert number.xshift == 20  # the first of a row of its own
    assert narrow.layout.margin.t == shown.layout.margin.t + 19
    assert {t.legend for t in wide.data} <= {None, "legend"}


@pytest.mark.parametrize(
    ("of", "kernel", "width"), [("square", None, 5.0), ("matmul", "paired_lanes", 8.0)], ids=["narrow", "long"]
)
def test_labels_that_would_meet_are_folded_and_keep_their_size(of, kernel, width):
    figure = picture(h200(of), "warps", Choice(kernel=kernel)).figure
    shown = print_layout(figure, Sheet(width))
    layout = shown.figure.layout
    plot = shown.width - layout.margin.l - layout.margin.r
    row = (shown.height - layout.margin.t - layout.margin.b) / abs(layout.yaxis.range[1] - layout.yaxis.range[0])
    labels = [t for t in shown.figure.data if t.mode == "text" and t.textposition and t.visible is not False]
    assert [t.textposition for t in labels] == ["middle right"]
    assert labels[0].textfont.size == 12
    for text in labels[0].text:
        lines = re.sub("</?b>", "", text).split("<br>")
        assert max(map(len, lines)) * 0.54 * 12 <= plot
        assert len(lines) * 1.3 * 12 < row
        assert "line " in lines[0]
        assert any(re.match("(global|shared) · ", line) for line in lines[1:])


def test_what_rows_count_stands_above_them_where_it_is_longer_than_they_are_high(square):
    row = picture(square, "banks", Choice(kernel="set_row_read_row")).figure
    low, keyed = (print_layout(row, Sheet(width)).figure for width in (4.5, 8.0))
    high = print_layout(picture(square, "banks", Choice(kernel="set_row_read_col")).figure, Sheet()).figure
    assert [low.layout.yaxis.title.text, low.layout.annotations[0].text] == ["", "↓ wavefront"]
    for other in (keyed, high):  # a key stands above the first
        assert other.layout.yaxis.title.text == "wavefront"
        assert [text.text[:13] for text in other.layout.annotations] == ["7", "number = lane"]


def test_the_figure_of_the_page_stays_as_it_is(square):
    shown = drawn(square, "tile").figure
    before = shown.to_json()
    print_layout(shown, Sheet(), caption="A caption.")
    assert shown.to_json() == before


def test_there_is_no_background_unless_it_is_asked_for(square):
    shown = drawn(square, "tile").figure
    assert print_layout(shown, Sheet()).figure.layout.paper_bgcolor == "rgba(0,0,0,0)"
    assert print_layout(shown, Sheet(background=True), "dark").figure.layout.paper_bgcolor == "#161b22"


def test_a_caption_is_broken_to_the_width_and_makes_the_sheet_longer(square):
    shown = drawn(square, "tile").figure
    bare, told = print_layout(shown, Sheet()), print_layout(shown, Sheet(), caption="Lanes of <one> request. " * 8)
    (caption,) = (text for text in told.figure.layout.annotations if "Lanes" in text.text)
    lines = caption.text.split("<br>")
    assert "&lt;one&gt;" in caption.text
    assert told.height == bare.height + 15 * len(lines) + 10
    assert max(map(len, lines)) <= (told.width - 8) / (0.54 * 11) + len("&lt;&gt;") * 2


@pytest.mark.parametrize("name", EXPORTED)
def test_every_figure_has_a_short_caption_and_knows_where_its_numbers_come_from(square, name):
    assert 0 < len(drawn(square, name).caption) < 100
    assert "recorded on" not in drawn(square, name).text
    said = drawn(square, name).about
    assert "recorded on NVIDIA H200" in said
    assert "wavefronts by the rule for compute capability 9.0, measured" in said


def test_the_caption_of_a_request_says_what_it_is(square):
    assert drawn(square, "banks").caption == "set_row_read_col: 32 lanes, 32 wavefronts where 1 would do."
    assert drawn(square, "banks").about.startswith(
        "set_row_read_col, square.py:53, tile[tx, ty] with BDIMX = 32, BDIMY = 32, IPAD = 1, PITCH = 33: "
        "load by warp 0, step 1: 32 lanes, 32 wavefronts where 1 would do."
    )


@pytest.mark.parametrize("name", EXPORTED)
def test_a_recording_that_was_cut_short_says_so_below_every_figure(square, name):
    launch = square["set_row_read_col"]
    cut = replace(square, launches=(replace(launch, totals=totals(launch, 100)),), unrecorded=2)
    said = picture(cut, name, Choice()).text
    assert said.endswith(
        "\n300 of 396 requests were counted but not logged. 2 more launches of the run not recorded, as asked."
    )


def test_the_views_are_those_of_the_page(square):
    assert drawn(square, "tile", view="physical").figure.layout.xaxis.title.text == "bank"
    assert drawn(square, "compare", view="times").figure.layout.xaxis.title.text == "µs per launch"


@pytest.mark.parametrize("name", EXPORTED)
def test_a_sheet_too_narrow_for_its_type_is_refused(square, name):
    figure = drawn(square, name).figure
    with pytest.raises(InputError, match="too narrow for this figure; take a larger --width or a smaller --font-size"):
        print_layout(figure, Sheet(2.0, 72.0))
    print_layout(figure, Sheet(6.0, 7.0))


def test_a_figure_with_nothing_to_show_is_refused_with_the_reason(reduce):
    """Errors are English in every language."""
    for tag in ["en", "ko"]:
        with speaking(tag), pytest.raises(InputError, match="no figure tile: This launch has no shared array"):
            picture(reduce, "tile", Choice(kernel="neighbours_in_global_memory"))


def test_names_left_of_a_figure_take_no_more_room_than_they_need(square):
    shown = drawn(square, "sectors").figure
    printed = print_layout(shown, Sheet()).figure
    assert printed.layout.margin.l == pytest.approx(8 + 0.6 * 11 * len("out[0]"))
    assert shown.layout.margin.l == 112


def test_numerals_stand_clear_of_the_frames_of_their_cells_and_in_their_middle(square):
    for name in ("tile", "warps"):
        shown = print_layout(drawn(square, name).figure, Sheet())
        layout = shown.figure.layout
        cell = (shown.width - layout.margin.l - layout.margin.r) / abs(layout.xaxis.range[1] - layout.xaxis.range[0])
        frames = [t for t in shown.figure.data if t.mode == "lines" and t.line.width]
        stroke = max(t.line.width for t in frames)
        texts = [t for t in shown.figure.data if t.mode == "text" and t.textposition is None and len(t.x)]
        assert texts
        for trace in texts:
            widest = max(map(len, map(str, trace.text))) * 0.62 * trace.textfont.size
            assert widest <= 0.92 * cell - stroke
            row = (shown.height - layout.margin.t - layout.margin.b) / abs(
                layout.yaxis.range[1] - layout.yaxis.range[0]
            )
            lower = (np.asarray(trace.y, float) - np.rint(np.asarray(trace.y, float))) * row
            assert lower == pytest.approx(0.12 * trace.textfont.size, rel=0.01)


def test_code_is_broken_so_that_it_can_be_read_at_8_cm():
    recording = h200("matmul")
    shown = print_layout(picture(recording, "source", Choice(kernel="double_buffered")).figure, Sheet())
    sizes = {trace.textfont.size * shown.scale * POINTS for trace in shown.figure.data if trace.text}
    assert min(sizes) >= 4.8
    code = [str(text).replace("\N{NO-BREAK SPACE}", " ") for text in shown.figure.data[1].text]
    assert '    """Two tiles of each matrix: while a block multiplies one pair, ' in code
    assert code[code.index('    """Two tiles of each matrix: while a block multiplies one pair, ') + 1] == (
        "        the next is on its way from global memory."
    )
