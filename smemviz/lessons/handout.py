"""A lesson on paper: text, question and room for the answer, and on the next page the answer with its pictures."""

import subprocess
import tempfile
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go
from markupsafe import Markup, escape

from smemviz.errors import MissingError
from smemviz.figures.drawing.style import MONO, THEMES
from smemviz.i18n import _
from smemviz.lessons.course import LESSONS
from smemviz.lessons.lesson import Lesson, Stage, Text
from smemviz.reports.html.page import document
from smemviz.reports.images import Image, draw, require_browser
from smemviz.reports.print_layout import Printed, Sheet, print_layout

# On an A4 page, the largest first; of the smallest two pictures of 32 rows each fit a page.
_SHEETS = (Sheet(17.0, 9.0), Sheet(15.0, 8.0), Sheet(12.5, 7.0), Sheet(9.5, 5.5), Sheet(8.5, 5.0))
_ROOM = 700  # CSS pixels that pictures may take beside the answer, one below the other
_SCENE_ROOM = 390  # and the question's
_SECONDS = 120  # for a browser that has to start


def handouts(lessons: Sequence[tuple[Lesson, dict[str, str]]]) -> bytes:
    """Return lessons with their knobs as one PDF, in the spoken language.

    Raises:
        MissingError: when kaleido or a browser is not there, or the browser does not answer.
    """
    stages = [lesson.stage(values) for lesson, values in lessons]
    panels = [(stage.before("light"), *stage.panels("light")) for stage in stages]
    laid_out = [
        [*printed_to_fit([scene.figure], _SCENE_ROOM), *printed_to_fit([panel.figure for panel in answer])]
        for scene, *answer in panels
    ]
    drawn = iter(draw([Image(panel, "svg") for of_lesson in laid_out for panel in of_lesson]))
    pages = [
        (lesson, values, stage, [(panel.title, panel.sentence, next(drawn)) for panel in of_lesson])
        for (lesson, values), stage, of_lesson in zip(lessons, stages, panels, strict=True)
    ]
    return _printed(handout_page(pages))


def printed_to_fit(figures: Sequence[go.Figure], room: int = _ROOM) -> list[Printed]:
    """Lay out pictures for their page, as large as fits the room below each other; the smallest where none does."""
    tried = [[print_layout(figure, sheet) for figure in figures] for sheet in _SHEETS]
    fitting = (panels for panels in tried if sum(each.height * each.scale for each in panels) <= room)
    return next(fitting, tried[-1])


def handout_page(lessons: Sequence[tuple[Lesson, dict[str, str], Stage, Sequence[tuple[str, str, bytes]]]]) -> str:
    """Write lessons with the values of their knobs as one document; several have a page of contents in front.

    The pictures of each are titles, what they say, and SVG files: the first of the question, the others of the answer.
    """
    pages = [
        {
            "lesson": lesson,
            "number": LESSONS.index(lesson) + 1,
            "count": len(LESSONS),
            "set_to": lesson.set_to(values),
            "stage": stage,
            "text": [_paragraph(paragraph) for paragraph in lesson.text],
            "pictures": [(title, sentence, b64encode(svg).decode()) for title, sentence, svg in pictures],
        }
        for lesson, values, stage, pictures in lessons
    ]
    title = _(lessons[0][0].title) if len(lessons) == 1 else _("Shared memory, a course")
    return document("handout.html", title, theme="light", colours=THEMES["light"], MONO=MONO, pages=pages)


def _paragraph(text: Text) -> Markup:
    code = {name: Markup("<code>{}</code>").format(written) for name, written in text.code.items()}
    return escape(_(text.message)).format(**code)


def _printed(page: str) -> bytes:
    browser = require_browser()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "handout.html"), Path(folder, "handout.pdf")
        source.write_text(page, encoding="utf-8")
        command = [
            browser,
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"),
            *(f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}", source.as_uri()),
        ]
        try:
            subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MissingError(f"handouts need Chrome or Chromium: {browser}: {type(error).__name__}") from None
        if not target.is_file():
            raise MissingError(f"handouts need Chrome or Chromium: {browser} printed nothing")
        return target.read_bytes()
