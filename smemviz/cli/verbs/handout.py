"""Write a lesson, or the whole course, as a handout: a PDF that asks on one page and answers on the next.

  smemviz handout columns -o columns.pdf                    # a lesson by its name, or by its number from 1
  smemviz handout 5 --set COLUMNS=16 --lang ko -o 5.pdf     # with another knob, in Korean
  smemviz handout --all -o course.pdf                       # all lessons, with their goals and minutes in front

The answer is counted for the knobs as they are set. Handouts need Chrome or Chromium and smemviz[export]; without those
it exits 3. An existing file is kept, unless --force is given.
"""

import argparse
from pathlib import Path

from smemviz.cli.settings import add_output, add_setting
from smemviz.errors import InputError
from smemviz.i18n import LANGUAGES, speaking
from smemviz.printable import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("lesson", metavar="LESSON", nargs="?", help="the lesson, by its number or its name")
    which.add_argument("--all", action="store_true", help="the whole course")
    add_output(parser, "the .pdf file to write", required=True)
    parser.add_argument("--force", action="store_true", help="overwrite OUT")
    parser.add_argument("--lang", choices=tuple(LANGUAGES), default="en", help="the language (default: en)")
    add_setting(parser, "turn a knob")


def execute(arguments: argparse.Namespace) -> int:
    """Check what can be checked, then count, draw and write."""
    from smemviz.lessons.course import LESSONS, lesson_of
    from smemviz.lessons.handout import handouts
    from smemviz.reports.files import require_place, write_bytes
    from smemviz.reports.images import require_browser

    output: Path = arguments.output
    if output.suffix.lower() != ".pdf":
        raise InputError(f"{output}: a handout ends in .pdf")
    if arguments.all and arguments.set:
        raise InputError("--set turns a knob of one lesson; name it instead of --all")
    chosen = LESSONS if arguments.all else [lesson_of(arguments.lesson)]
    lessons = [(lesson, lesson.turned(dict(arguments.set))) for lesson in chosen]
    require_place(output, arguments.force)
    require_browser()
    with speaking(arguments.lang):
        content = handouts(lessons)
    write_bytes(output, content)
    print(printable(f"{output}: {len(content):,} bytes"))
    return 0
