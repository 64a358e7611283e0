"""Bring the catalogues in ``smemviz/locale`` up to date with the messages in the code: ``python tools/messages.py``.

Translations that are there are kept, messages that are gone are dropped, and new ones stand untranslated until somebody
translates them; the tests fail until then.
"""

from __future__ import annotations

import sys
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_file
from babel.messages.pofile import read_po, write_po

from smemviz.language import LANGUAGES, catalogue_file

ROOT = Path(__file__).resolve().parents[1]
_KEYWORDS = {**DEFAULT_KEYWORDS, "rich": None}
_SOURCES = (("smemviz", "*.py", "python"), ("smemviz", "*.js", "javascript"), ("assets", "*.js", "javascript"))


def extracted() -> Catalog:
    """Return every message in the code with the files it stands in."""
    catalogue = Catalog(project="smemviz", charset="utf-8")
    for folder, pattern, method in _SOURCES:
        for path in sorted((ROOT / folder).rglob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            if "_data/" in name or "codemirror/" in name:
                continue
            for line, message, comments, context in extract_from_file(
                method, str(path), keywords=_KEYWORDS, comment_tags=("TRANSLATORS:",)
            ):
                catalogue.add(message, None, [(name, line)], auto_comments=comments, context=context)
    return catalogue


def updated(tag: str) -> Catalog:
    """Return the catalogue of a language with the messages that the code has now."""
    path = catalogue_file(tag)
    if path.is_file():
        with path.open("rb") as file:
            catalogue = read_po(file, locale=tag.replace("-", "_"))
    else:
        catalogue = Catalog(locale=tag.replace("-", "_"), charset="utf-8", fuzzy=False)
    catalogue.update(extracted(), no_fuzzy_matching=True, update_creation_date=False)
    catalogue.obsolete.clear()
    return catalogue


def main() -> int:
    """Write the catalogues and say how much each lacks."""
    for tag in LANGUAGES:
        if tag == "en":
            continue
        catalogue, path = updated(tag), catalogue_file(tag)
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as file:
            write_po(file, catalogue, width=120, sort_by_file=True, include_lineno=False)
        missing = sum(not entry.string for entry in catalogue if entry.id)
        print(f"{path.relative_to(ROOT)}: {len(catalogue)} messages, {missing} not translated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
