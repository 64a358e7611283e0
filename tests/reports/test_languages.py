"""Figures and reports in every language: what is said, and that fonts have every letter of it."""

import io
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pypdf
import pytest
from helpers.commands import Text
from helpers.pseudo import TAG, pseudo

from smemviz import i18n as language
from smemviz.figures.registry import EXPORTED
from smemviz.i18n import LANGUAGES, speaking
from smemviz.model.hardware.hardware import H200
from smemviz.reports.html.report import report_page
from smemviz.reports.images import Image, draw
from smemviz.reports.notebook import to_html
from smemviz.reports.pictures import picture
from smemviz.reports.print_layout import Sheet, print_layout
from smemviz.reports.selection import Choice, launches
from smemviz.wording.sentences import headline

Export = Callable[..., Text]
TRANSPOSE = Choice(kernel="set_row_read_col", line=53)
_NOTE = "A bin per bank, a row per wavefront, the first at the bottom; in each cell the lanes it serves."
LETTERS = {"en": "µ…·", "ko": "뱅크 충돌 웨이브프론트", "zh-Hans": "存储体冲突、波前、线程束。"}
MISSING = "\x00"  # what pypdf reads of a glyph that stands for no letter


def solid(text):
    """Return a text without spaces and with one form of each letter, as PDFs have several."""
    return re.sub(r"[^\S\x00]", "", unicodedata.normalize("NFKC", text))


def read(pdf):
    (page,) = pypdf.PdfReader(io.BytesIO(pdf)).pages
    return str(page.extract_text())


def letters(tag):
    """Return every letter outside of ASCII in a language's catalogue and in some words of it, once."""
    said = [LETTERS[tag], "".join(LANGUAGES.values())]
    if tag != "en":
        said += [
            text
            for one in language._entries(tag)
            for text in ([one.string] if isinstance(one.string, str) else one.string)
        ]
    return "".join(sorted({letter for text in said for letter in text if ord(letter) > 127 and not letter.isspace()}))


@pytest.mark.browser
@pytest.mark.usefixtures("image_browser")
@pytest.mark.parametrize("tag", LANGUAGES)
def test_a_figure_for_print_says_in_the_language_what_it_shows(export, square, square_file, tmp_path, tag):
    out = tmp_path / "banks.pdf"
    options = ("--figure", "banks", "--kernel", "set_row_read_col", "--site", "53", "--lang", tag)
    export(square_file, *options, "-o", out)
    text = read(out.read_bytes())
    assert MISSING not in text
    with speaking(tag):
        drawn = picture(square, "banks", TRANSPOSE)
    said = solid(text)
    for word in (drawn.text, drawn.figure.layout.xaxis.title.text, drawn.figure.layout.yaxis.title.text):
        assert solid(word) in said


@pytest.mark.browser
@pytest.mark.usefixtures("image_browser")
def test_fonts_have_every_letter_of_every_catalogue_and_one_that_is_missing_is_seen(square):
    def captioned(tag, caption):
        with speaking(tag):
            return Image(print_layout(picture(square, "sectors").figure, Sheet(30), caption=caption), "pdf")

    captions = {tag: f"Letters: {letters(tag)}" for tag in LANGUAGES}
    asked = [captioned(tag, caption) for tag, caption in captions.items()]
    *drawn, lacking = draw([*asked, captioned("en", "A letter of nobody: \ue123")])
    for caption, pdf in zip(captions.values(), drawn, strict=True):
        text = read(pdf)
        assert MISSING not in text
        assert len(solid(text[text.index("Letters:") :])) == len(solid(caption))
    assert read(lacking).endswith(f"nobody: {MISSING}")


@pytest.mark.browser
@pytest.mark.parametrize("tag", LANGUAGES)
def test_a_report_speaks_the_language(export, square, square_file, tmp_path, page, tag):
    out = tmp_path / "report.html"
    export(square_file, "--lang", tag, "-o", out)
    page.on("console", lambda said: pytest.fail(said.text))
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.context.set_offline(True)
    page.goto(out.as_uri())
    page.wait_for_selector("html[data-ready]")
    assert page.locator("html").get_attribute("lang") == tag
    with speaking(tag):
        gettext = language.gettext
        titles = [
            headline(square.launches[int(page.locator("#launch").input_value())], H200),
            gettext("Source"),
            gettext("Tile"),
            gettext("Banks by wavefront"),
            gettext("Launches"),
        ]
        spoken = language.script_messages(tag).get(_NOTE)
    assert page.locator("h2:visible, h3:visible").all_text_contents() == titles  # of shared memory: no sectors
    note = spoken or _NOTE
    assert page.locator("#banks-note").inner_text() == note


@pytest.mark.parametrize("name", EXPORTED)
def test_a_figure_as_html_is_of_its_language(export, square_file, tmp_path, name):
    export(square_file, "--figure", name, "--lang", "ko", "-o", tmp_path / "figure.html")
    text = (tmp_path / "figure.html").read_text("utf-8")
    assert '<html lang="ko">' in text
    assert "Noto Sans CJK KR" in text
    assert re.search(r'id="figure" role="group" aria-label="[^"]+"', text)


def test_data_have_no_language(export, square_file, tmp_path):
    for name in ("a.csv", "a.json"):
        err = export(square_file, "--lang", "ko", "-o", tmp_path / name, code=2).err
        assert f"--lang does not apply to {Path(name).suffix}" in err


# In brackets: what no message says


def outside(markup):
    """Return the words of a page that stand in no message; code and the data of its script are left out."""
    markup = re.sub(r"(?s)<(style|script|title|pre)\b.*?</\1>", " ", markup)
    names = " ".join(re.findall(r'(?:aria-label|title|alt)="([^"]*)"', markup))
    text = re.sub(r"<[^>]*>|&#?\w+;", " ", markup) + " " + names
    return " ".join(re.findall(r"[A-Za-z]+", re.sub(r"⟦[^⟧]*⟧", " ", text)))


def names(recording):
    """Return the words that are data: what stands in the source and in the recording."""
    said = [recording.file, recording.version, recording.source, *recording.sources.values(), *recording.constants]
    said += [recording.device.name, recording.device.driver] if recording.device else []
    return {word for text in said for word in re.findall(r"[A-Za-z]+", text)} | {"smemviz", "x", "s"}


def test_every_text_of_a_report_is_a_message(square):
    with pseudo():
        text = report_page(square, launches(square, Choice()), H200)
    assert f'<html lang="{TAG}">' in text
    assert set(outside(text).split()) - names(square) == set()


def test_every_text_in_a_notebook_is_a_message(square):
    with pseudo():
        text = to_html(square)
    assert set(outside(text).split()) - names(square) == set()


@pytest.mark.parametrize("name", EXPORTED)
def test_every_caption_is_a_message(square, name):
    with pseudo():
        said = picture(square, name, Choice() if name == "compare" else TRANSPOSE).text
    assert set(outside(said).split()) - names(square) == set()
