import re
from dataclasses import replace

from helpers.synthetic import square_recording

from smemviz.figures.drawing.style import THEMES
from smemviz.figures.source import source
from smemviz.frontends.reading import kernel_lines

RECORDING = square_recording()
SPACE = "\N{NO-BREAK SPACE}"


def drawn(recording, launch, site=None):
    return source(recording, launch, kernel_lines(recording, launch), site=site)


def lines(figure):
    """Return every text of the figure from top to bottom, left to right, without its markup."""
    found = [
        (y, x, re.sub(r"<[^>]*>", "", text).replace(SPACE, " "))
        for trace in figure.data  # type: ignore[attr-defined]
        for x, y, text in zip(trace.x, trace.y, trace.text, strict=True)
    ]
    return [text for _, _, text in sorted(found)]


def test_the_lines_of_the_kernel_stand_with_their_numbers_and_costs():
    shown = lines(drawn(RECORDING, RECORDING["set_row_read_col"]))
    assert shown[:4] == ["43", "@cuda.jit", "44", "def set_row_read_col(out):"]
    at = shown.index("53")
    assert shown[at : at + 4] == [
        "53",
        "    out[idx] = tile[tx, ty]",
        "    ▲ tile[tx, ty]  shared load · 32-way · 992 excess",
        "    out[idx]  global store · 128 sectors, 4 per request",
    ]


def test_accesses_are_underlined_those_with_excess_in_the_colour_of_a_conflict():
    figure = drawn(RECORDING, RECORDING["set_row_read_col"])
    (line,) = (text for trace in figure.data for text in trace.text if text.count("<u>") == 2)
    assert line == (
        f"{4 * SPACE}<u>out[idx]</u>{SPACE}={SPACE}"
        f'<span style="color:{THEMES["light"].conflict}"><u>tile[tx,{SPACE}ty]</u></span>'
    )


def test_the_chosen_access_is_bold():
    figure = drawn(RECORDING, RECORDING["set_row_read_col"], site=1)
    (bold,) = (text for trace in figure.data for text in trace.text if text.startswith("<b>"))
    assert "tile[tx," in bold


def test_what_looks_like_markup_is_text():
    text = RECORDING.source.replace("Store by rows, load by columns", "<b>a & b</b>")
    figure = drawn(replace(RECORDING, source=text), RECORDING["set_row_read_col"])
    assert any("&lt;b&gt;a" in one for trace in figure.data for one in trace.text)


def test_only_line_ends_end_a_line():
    """A form feed, which some editors write between functions, counts as no line for Python."""
    first, rest = RECORDING.source.split("\n", 1)
    marked = replace(RECORDING, source=f"{first}\x0c # \u2028\r\n{rest}")
    assert lines(drawn(marked, RECORDING["set_row_read_col"])) == lines(drawn(RECORDING, RECORDING["set_row_read_col"]))
