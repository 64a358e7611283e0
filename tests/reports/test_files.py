"""Every kind of file, written by the command and opened again."""

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import pypdf
import pytest
from helpers.commands import Text
from PIL import Image, ImageColor

from smemviz.errors import InputError
from smemviz.figures.drawing.style import THEMES
from smemviz.figures.registry import EXPORTED
from smemviz.reports import images
from smemviz.reports.print_layout import Sheet, print_layout

Export = Callable[..., Text]
TRANSPOSE = ("--kernel", "set_row_read_col", "--site", "53")
SVG = "{http://www.w3.org/2000/svg}"
LANES = {str(lane) for lane in range(32)}
BETWEEN = LANES - {str(bank) for bank in range(0, 32, 4)}  # which are numbers at no axis


@pytest.fixture
def browser_that_gives(monkeypatch):
    def give(content):
        async def drawn(wanted):
            return [content] * len(wanted)

        monkeypatch.setattr(images, "_draw", drawn)
        monkeypatch.setattr(images, "require_browser", lambda: "chromium")

    return give


def test_a_png_too_large_for_the_browser_is_refused(browser_that_gives):
    browser_that_gives(b"u\xabZ")  # what Chromium gives of 94,480 dots across
    pressed = print_layout(go.Figure(layout={"height": 300, "margin": {"l": 0, "r": 0, "t": 0, "b": 0}}), Sheet(100.0))
    with pytest.raises(InputError, match="a PNG of 94,481 x 5,833 dots is more than the browser draws; take a smaller"):
        images.draw([images.Image(pressed, "png", 2400)])


def test_an_svg_has_no_letter_that_xml_has_not(browser_that_gives):
    browser_that_gives(b"<svg><text>\x0cdef\x07\tk\n</text></svg>")
    pressed = print_layout(go.Figure(layout={"height": 300, "margin": {"l": 0, "r": 0, "t": 0, "b": 0}}), Sheet())
    (svg,) = images.draw([images.Image(pressed, "svg")])
    assert ET.fromstring(svg).findtext("text") == "def\tk\n"


@pytest.mark.browser
@pytest.mark.usefixtures("image_browser")
@pytest.mark.parametrize(("width", "named"), [("4", set()), ("8", BETWEEN)])
def test_an_svg_has_every_lane_as_text_where_all_have_room(export, square_file, tmp_path, width, named):
    export(square_file, "--figure", "tile", *TRANSPOSE, "--width", width, "-o", tmp_path / "tile.svg")
    root = ET.parse(tmp_path / "tile.svg").getroot()
    assert float(root.attrib["width"]) * 2.54 / 96 == pytest.approx(float(width), rel=5e-3)
    texts = ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]
    assert BETWEEN & set(texts) == named
    assert ("number = lane" in texts) == bool(named)
    assert any(text.startswith("square.py:53") for text in texts)
    assert not any("recorded on" in text for text in texts)
    assert "recorded on NVIDIA H200" in root.findtext(f"{SVG}desc", "")
    assert "fill-opacity: 0;" in root[1].attrib["style"]  # no background
    assert root.find(f".//{SVG}foreignObject") is None


@pytest.mark.browser
@pytest.mark.usefixtures("image_browser")
def test_a_pdf_is_vectors_and_text(export, square_file, tmp_path):
    out = tmp_path / "banks.pdf"
    export(square_file, "--figure", "banks", *TRANSPOSE, "--width", "17", "--caption", "", "-o", out)
    pdf = pypdf.PdfReader(out, strict=True)
    assert "recorded on NVIDIA H200" in (pdf.metadata.subject or "")
    (page,) = pdf.pages
    assert float(page.mediabox.width) / 72 * 2.54 == pytest.approx(17.0, rel=1e-2)
    words = page.extract_text().split()
    assert set(words) >= LANES | {"992", "bank", "wavefront"}
    assert not list(page.images)


@pytest.mark.browser
@pytest.mark.usefixtures("image_browser")
def test_a_png_has_the_dots_asked_for_and_is_not_blank(export, square_file, tmp_path):
    out = tmp_path / "tile.png"
    options = ("--figure", "tile", *TRANSPOSE, "--width", "10", "--dpi", "150", "--caption", "")
    export(square_file, *options, "-o", out)
    with Image.open(out) as image:
        assert image.width == pytest.approx(10 / 2.54 * 150, rel=5e-3)
        assert image.info["dpi"] == pytest.approx((150, 150), abs=0.02)
        assert "recorded on NVIDIA H200" in image.info["Description"]
        pixels = np.asarray(image.convert("RGBA")).astype(int)
    assert (pixels[:4, :, 3] == 0).all()  # nothing behind the figure
    height, width = pixels.shape[:2]
    left, right = pixels[height // 2, width // 6], pixels[height // 2, -width // 12]
    assert left[2] > left[0]  # the first banks are blue
    assert right[0] > right[2]  # the last are yellow
    orange = (pixels[..., :3] == ImageColor.getrgb(THEMES["light"].conflict)).all(axis=2)
    rows, columns = np.nonzero(orange)
    assert np.ptp(rows) > 0.7 * height  # the lanes in conflict, all down
    assert columns.max() < width / 3  # one column, and its entry in the key


@pytest.mark.browser
@pytest.mark.usefixtures("image_browser")
def test_several_images_take_one_browser_and_dark_ones_their_paper():
    from smemviz.figures.drawing.style import THEMES, empty
    from smemviz.reports import images
    from smemviz.reports.print_layout import Sheet, print_layout

    sheets = [print_layout(empty(THEMES["dark"], text), Sheet(background=True), "dark") for text in ("one", "two")]
    svg, png = images.draw([images.Image(sheets[0], "svg"), images.Image(sheets[1], "png", 96)])
    assert b">one<" in svg
    with Image.open(io.BytesIO(png)) as image:
        assert image.convert("RGBA").getpixel((2, 2)) == (0x16, 0x1B, 0x22, 255)


@pytest.mark.parametrize("name", EXPORTED)
def test_a_figure_as_html_holds_all_it_needs(export, square_file, tmp_path, name):
    export(square_file, "--figure", name, "-o", tmp_path / "figure.html")
    text = (tmp_path / "figure.html").read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert "default-src 'none'" in policy[1]
    assert "http" not in policy[1]
    assert '"modeBarButtonsToRemove":["sendChartToCloud"]' in text
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=", text.replace(_plotly(), ""))


@pytest.mark.browser
def test_a_figure_as_html_opens_from_disk_without_a_network(export, square_file, tmp_path, page):
    export(square_file, "--figure", "tile", *TRANSPOSE, "--theme", "dark", "-o", tmp_path / "tile.html")
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.context.set_offline(True)
    page.goto((tmp_path / "tile.html").as_uri())
    page.wait_for_selector("#figure .main-svg")
    texts = page.locator("#figure .textpoint text, #figure text").all_text_contents()
    assert set(texts) >= {f"L{lane}" for lane in LANES}
    caption = page.locator("figcaption p")
    assert caption.first.inner_text() == "set_row_read_col: 32 lanes, 32 wavefronts where 1 would do."
    assert "recorded on NVIDIA H200" in caption.last.inner_text()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 27, 34)"
    assert complaints == []


def _plotly():
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
