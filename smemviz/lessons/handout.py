"""A lesson on paper: text, question and room for the answer, and on the next page the answer with its pictures."""

from __future__ import annotations

import subprocess
import tempfile
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Formatter

import plotly.graph_objects as go

from smemviz.errors import MissingError
from smemviz.figures.drawing.style import MONO, THEMES, font
from smemviz.i18n import _, ngettext
from smemviz.lessons.course import LESSONS
from smemviz.lessons.lesson import Lesson, Question, Stage, Text
from smemviz.reports.html.page import document, text_of
from smemviz.reports.images import Image, draw, require_browser
from smemviz.reports.print_layout import Printed, Sheet, print_layout

# On an A4 page, the largest first; of the smallest two pictures of 32 rows each fit a page.
_SHEETS = (Sheet(17.0, 9.0), Sheet(15.0, 8.0), Sheet(12.5, 7.0), Sheet(9.5, 5.5))
_ROOM = 700  # CSS pixels that pictures may take beside the answer, one below the other
_SCENE_ROOM = 300  # and the question's
_SECONDS = 120  # for a browser that has to start
_LANES = 32


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
        handout_sections(lesson, values, stage, [(panel.title, panel.sentence, next(drawn)) for panel in of_lesson])
        for (lesson, values), stage, of_lesson in zip(lessons, stages, panels, strict=True)
    ]
    title = _(lessons[0][0].title) if len(lessons) == 1 else _("Shared memory, a course")
    cover = _cover([lesson for lesson, _values in lessons]) if len(lessons) > 1 else ""
    return _printed(handout_page(title, cover + "".join(pages)))


def printed_to_fit(figures: Sequence[go.Figure], room: int = _ROOM) -> list[Printed]:
    """Lay out pictures for their page, as large as fits the room below each other; the smallest where none does."""
    tried = [[print_layout(figure, sheet) for figure in figures] for sheet in _SHEETS]
    fitting = (panels for panels in tried if sum(each.height * each.scale for each in panels) <= room)
    return next(fitting, tried[-1])


def _cover(lessons: Sequence[Lesson]) -> str:
    """Write the first page of a course: its lessons with their goals and minutes."""
    rows = "".join(
        f"<li><b>{text_of(_(lesson.title))}</b> ({text_of(ngettext('{n} minute', '{n} minutes', lesson.minutes))})<br>"
        f"{text_of(_(lesson.goal))}</li>"
        for lesson in lessons
    )
    whole = ngettext("{n} minute", "{n} minutes", sum(lesson.minutes for lesson in lessons))
    return (
        f'<section><p class="place">smemviz</p><h1>{text_of(_("Shared memory, a course"))}</h1>'
        f'<p class="set">{text_of(whole)}</p><ol class="contents">{rows}</ol></section>'
    )


def handout_page(title: str, sections: str) -> str:
    """Write the pages of handouts as one document."""
    return document(title, f"<main>{sections}</main>", _style(), [], theme="light")


def handout_sections(
    lesson: Lesson, values: dict[str, str], stage: Stage, pictures: Sequence[tuple[str, str, bytes]]
) -> str:
    """Write the pages of a lesson as HTML.

    ``pictures`` are titles, what they say, and SVG files: the first of the question, the others of the answer.
    """
    number = LESSONS.index(lesson) + 1
    place = _("Lesson {number} of {count}", number=number, count=len(LESSONS))
    figures = [
        f"<figure><h2>{text_of(title)}</h2>"
        f'<img alt="{escape(sentence)}" src="data:image/svg+xml;base64,{b64encode(svg).decode()}"></figure>'
        for title, sentence, svg in pictures
    ]
    return f"""<section><p class="place">smemviz · {escape(place)}</p><h1>{text_of(_(lesson.title))}</h1>
{"".join(f"<p>{_paragraph(paragraph)}</p>" for paragraph in lesson.text)}
<p class="set">{text_of(lesson.set_to(values))}</p>
<h2>{text_of(_("Question"))}</h2><p class="question">{text_of(stage.question.text)}</p>
{"".join(figures[:1])}<h2>{text_of(_("Your answer"))}</h2>{_room(stage.question)}</section>
<section><p class="place">smemviz · {escape(place)}: {escape(_(lesson.title))}</p>
<h1>{text_of(_("It is {answer}.", answer=stage.answer))}</h1><p>{text_of(stage.because)}</p>
{"".join(figures[1:])}<p class="place">{text_of(stage.origin)}</p></section>"""


def _paragraph(text: Text) -> str:
    """Write a message as HTML, its code marked as such."""
    parts = []
    for literal, name, _form, _conversion in Formatter().parse(_(text.message)):
        parts.append(escape(literal))
        if name is not None:
            parts.append(f"<code>{escape(text.code[name])}</code>")
    return "".join(parts)


def _room(question: Question) -> str:
    """Leave room for an answer: boxes to cross where there is a choice, lines for a number."""
    lines = '<div class="line"></div>' * 3
    if question.kind == "choice":
        return "".join(f'<p class="box"><code>{escape(option.text)}</code></p>' for option in question.options)
    if question.kind == "lanes":
        return f'<div class="lanes">{"".join(f"<span>{lane}</span>" for lane in range(_LANES))}</div>{lines}'
    return lines


def _style() -> str:
    colours = THEMES["light"]
    return (
        f"@page {{ size: A4; margin: 18mm; }} body {{ margin: 0; font: 12pt/1.5 {font()}; color: {colours.ink}; }}"
        " body:lang(ko) { word-break: keep-all; }"
        " section { break-after: page; } section:last-child { break-after: auto; }"
        " h1 { font-size: 22pt; line-height: 1.2; margin: 4pt 0 12pt; } h2 { font-size: 11pt; margin: 16pt 0 4pt; }"
        " .contents { padding-left: 20pt; font-size: 11pt; } .contents li { margin-bottom: 5pt; }"
        " p { margin: 0 0 8pt; } .question { font-size: 14pt; font-weight: 650; }"
        f" .place, .set {{ color: {colours.muted}; font-size: 10pt; }}"
        f" code {{ font-family: {MONO}; font-size: 0.92em; }}"
        f" .line {{ height: 14mm; border-bottom: 0.4mm solid {colours.muted}; }}"
        f" .box::before {{ content: ''; display: inline-block; width: 4mm; height: 4mm; margin-right: 4mm;"
        f" border: 0.4mm solid {colours.ink}; vertical-align: -0.7mm; }}"
        " .lanes { display: grid; grid-template-columns: repeat(8, 14mm); gap: 2mm; }"
        f" .lanes span {{ border: 0.3mm solid {colours.muted}; text-align: center; padding: 1mm 0; }}"
        " figure { margin: 0; break-inside: avoid; } img { max-width: 100%; display: block; }"
    )


def _printed(page: str) -> bytes:
    """Print a page to PDF."""
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
