"""Bring the catalogues in ``smemviz/locale`` up to date with the messages in the code: ``python tools/messages.py``.

Translations of messages that are as they were are kept, messages that are gone are dropped, and new ones stand
untranslated: pages show them in English until somebody translates them. ``--share`` says how many of the code's
messages each catalogue translates; ``--release`` fails unless that is all of them. Both write nothing.
"""

import argparse
import ast
import io
import math
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

from smemviz.i18n import LANGUAGES, RECOGNISED, catalogue_file

ROOT = Path(__file__).resolve().parents[1]
_NOTE = "TRANSLATORS:"
_SCRIPT: tuple[Any, ...] = ("*.js", "javascript", {"gettext": None}, {"parse_template_string": True})
_OTHERS = (
    ("smemviz", *_SCRIPT),
    ("assets", *_SCRIPT),
    ("smemviz", "*.html", "jinja2", {"_": None, "ngettext": (1, 2)}, {}),
)
_SINGLE = ("_", "gettext", "N_", "rich", "english")


def extracted() -> Catalog:
    """Return every message in the code with the files it stands in."""
    catalogue = Catalog(project="smemviz", charset="utf-8")
    for path in sorted((ROOT / "smemviz").rglob("*.py")):
        name, source = path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
        for line, message, context, note in in_python(source):
            notes = [*_note(source, line), *note]
            catalogue.add(message, None, [(name, line)], auto_comments=notes, context=context)
    for folder, pattern, reader, keywords, options in _OTHERS:
        for path in sorted((ROOT / folder).rglob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            if "/codemirror/" in name:
                continue
            found = extract_from_file(reader, str(path), keywords=keywords, comment_tags=(_NOTE,), options=options)
            for line, message, comments, _ in found:
                catalogue.add(message, None, [(name, line)], auto_comments=comments)
    return catalogue


def in_python(source: str) -> Iterator[tuple[int, Any, str | None, list[str]]]:
    """Yield line, message (both forms of a plural), context and notes; Babel's own reader misses nested ones."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        texts = [one.value if isinstance(one, ast.Constant) else None for one in node.args]
        called = node.func.id
        if called in _SINGLE and isinstance(texts[0], str):
            yield node.lineno, texts[0], None, [RECOGNISED] if called == "english" else []
        elif called in ("ngettext", "nenglish") and isinstance(texts[0], str):
            yield node.lineno, (texts[0], texts[1]), None, [RECOGNISED] if called == "nenglish" else []
        elif called == "pgettext" and isinstance(texts[1], str):
            yield node.lineno, texts[1], texts[0], []


def _note(source: str, line: int) -> list[str]:
    """Return what the comment above a line says to translators."""
    lines = source.splitlines()
    note: list[str] = []
    for above in reversed(lines[: line - 1]):
        text = above.strip()
        if not text.startswith("#"):
            break
        note.insert(0, text.lstrip("# "))
        if _NOTE in text:
            return note
    return []


def read(tag: str) -> Catalog:
    """Return the catalogue of a language as it is, an empty one where there is none."""
    path, locale = catalogue_file(tag), tag.replace("-", "_")
    if not path.is_file():
        return Catalog(locale=locale, charset="utf-8", fuzzy=False)
    with path.open("rb") as file:
        return read_po(file, locale=locale)


def updated(catalogue: Catalog, messages: Catalog) -> Catalog:
    """Bring a catalogue up to date with messages, and return it; what was translated from other words is dropped."""
    terms, was = catalogue.header_comment, {_key(entry): entry.string for entry in catalogue}
    catalogue.update(messages, no_fuzzy_matching=True, update_creation_date=False)
    catalogue.header_comment = terms
    catalogue.obsolete.clear()
    for entry in catalogue:
        if entry.id and _key(entry) not in was:  # Babel knows a plural again by its singular alone
            entry.string = ""
            entry.flags.discard("fuzzy")
    return catalogue


def untranslated(catalogue: Catalog, messages: Catalog) -> list[Message]:
    """Return the messages that a catalogue does not translate, wholly and with certainty."""
    there = {_key(entry) for entry in catalogue if entry.string and all(entry.string) and not entry.fuzzy}
    return [entry for entry in messages if entry.id and _key(entry) not in there]


def _key(entry: Message) -> tuple[Any, str | None]:
    return (tuple(entry.id) if isinstance(entry.id, (list, tuple)) else entry.id), entry.context


def written(catalogue: Catalog) -> bytes:
    """Return a catalogue as a file, without the headers that are about people and clocks."""
    file = io.BytesIO()
    write_po(file, catalogue, width=120, sort_by_file=True, include_lineno=False)
    about = (
        rb'"(?:Project-Id-Version|Report-Msgid-Bugs-To|POT?-\w+-Date|Last-Translator|Language-Team|Generated-By):.*\n'
    )
    return re.sub(about, b"", file.getvalue())


def shares() -> Iterator[tuple[str, int, int]]:
    """Yield for each language but English its tag, how many messages are translated, and how many there are."""
    messages = extracted()
    for tag in LANGUAGES:
        if tag != "en":
            yield tag, len(messages) - len(untranslated(read(tag), messages)), len(messages)


def update() -> None:
    """Write the catalogues."""
    for tag in LANGUAGES:
        if tag != "en":
            path = catalogue_file(tag)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(written(updated(read(tag), extracted())))


def main(arguments: Sequence[str] = ()) -> int:
    """Write the catalogues unless only asked how much they hold, and say it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--share", action="store_true", help="say how much is translated, and write nothing")
    only.add_argument("--release", action="store_true", help="fail unless all is translated, and write nothing")
    asked = parser.parse_args(arguments)
    if not asked.share and not asked.release:
        update()
    complete = True
    for tag, done, all_of_them in shares():
        complete &= done == all_of_them
        print(f"{tag}: {done:,} of {all_of_them:,} messages translated, {math.floor(100 * done / all_of_them)} %")
    return 1 if asked.release and not complete else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
