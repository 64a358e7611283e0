"""Bring the catalogues in ``smemviz/locale`` up to date with the messages in the code: ``python tools/messages.py``.

Translations that are there are kept, messages that are gone are dropped, and new ones stand untranslated until somebody
translates them; the tests fail until then.
"""

from __future__ import annotations

import ast
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

from smemviz.language import LANGUAGES, SAID, catalogue_file

ROOT = Path(__file__).resolve().parents[1]
_NOTE = "TRANSLATORS:"
_SINGLE = ("_", "gettext", "N_", "rich", "said")


def extracted() -> Catalog:
    """Return every message in the code with the files it stands in."""
    catalogue = Catalog(project="smemviz", charset="utf-8")
    for path in sorted((ROOT / "smemviz").rglob("*.py")):
        name, source = path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
        for line, message, context, note in in_python(source):
            notes = [*_note(source, line), *note]
            catalogue.add(message, None, [(name, line)], auto_comments=notes, context=context)
    for folder in ("smemviz", "assets"):
        for path in sorted((ROOT / folder).rglob("*.js")):
            name = path.relative_to(ROOT).as_posix()
            if "/codemirror/" in name:
                continue
            found = extract_from_file(
                "javascript",
                str(path),
                keywords={"gettext": None},
                comment_tags=(_NOTE,),
                options={"parse_template_string": True},
            )
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
            yield node.lineno, texts[0], None, [SAID] if called == "said" else []
        elif called in ("ngettext", "nsaid") and isinstance(texts[0], str):
            yield node.lineno, (texts[0], texts[1]), None, [SAID] if called == "nsaid" else []
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


def updated(tag: str) -> Catalog:
    """Return the catalogue of a language with the messages that the code has now."""
    path = catalogue_file(tag)
    if path.is_file():
        with path.open("rb") as file:
            catalogue = read_po(file, locale=tag.replace("-", "_"))
    else:
        catalogue = Catalog(locale=tag.replace("-", "_"), charset="utf-8", fuzzy=False)
    terms = catalogue.header_comment
    catalogue.update(extracted(), no_fuzzy_matching=True, update_creation_date=False)
    catalogue.header_comment = terms
    catalogue.obsolete.clear()
    return catalogue


def written(catalogue: Catalog) -> bytes:
    """Return a catalogue as a file, without the headers that are about people and clocks."""
    file = io.BytesIO()
    write_po(file, catalogue, width=120, sort_by_file=True, include_lineno=False)
    about = (
        rb'"(?:Project-Id-Version|Report-Msgid-Bugs-To|POT?-\w+-Date|Last-Translator|Language-Team|Generated-By):.*\n'
    )
    return re.sub(about, b"", file.getvalue())


def main() -> int:
    """Write the catalogues and say how much each lacks."""
    for tag in LANGUAGES:
        if tag == "en":
            continue
        catalogue, path = updated(tag), catalogue_file(tag)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(written(catalogue))
        missing = sum(not entry.string for entry in catalogue if entry.id)
        print(f"{path.relative_to(ROOT)}: {len(catalogue)} messages, {missing} not translated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
