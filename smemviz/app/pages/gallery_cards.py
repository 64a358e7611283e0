"""Cards of the gallery that are kept written, so that nobody waits for what is known of the files of smemviz itself."""

import json
import re
from collections.abc import Callable
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from smemviz.app.file_names import COMPILED
from smemviz.app.library import Library
from smemviz.i18n import LANGUAGES, speaking, spoken
from smemviz.paths import kernels_dir, recording_for

CARDS = "recordings/cards.json"  # in the folder of the gallery's kernel files; ``tools/gallery_cards.py`` writes it
_PICTURE = re.compile(r'src="(data:[^"]*)"')


class KeptCard(NamedTuple):
    """A card as HTML, and where the numbers on it come from."""

    html: Markup
    note: str


def card_files(library: Library) -> list[str]:
    """Return the files that have a card: a file's page leads to what was compiled of it."""
    return [file for file in library.files if not file.endswith(COMPILED)]


def kept_cards(library: Library) -> dict[str, KeptCard]:
    """Return the cards of the files that are as they were when these were written, in the language spoken."""
    written = _written()
    return {
        file: _filled(card)
        for file in card_files(library)
        if (card := written.get(file)) and spoken() in card and card["digest"] == digest_of(library.path_of(file))
    }


def write_cards(library: Library, make: Callable[[str], KeptCard]) -> str:
    """Write the cards of a library's files in every language, as ``CARDS`` holds them; pictures have no language."""
    cards: dict[str, dict[str, Any]] = {}
    for file in card_files(library):
        card = cards[file] = {"digest": digest_of(library.path_of(file))}
        for tag in LANGUAGES:
            with speaking(tag):
                html, note = make(file)
            card["pictures"] = _PICTURE.findall(html)
            card[tag] = [_PICTURE.sub('src="{}"', html.replace("{", "{{").replace("}", "}}")), note]
    return json.dumps(cards, ensure_ascii=False, indent=1) + "\n"


def digest_of(path: Path) -> str:
    """Return what a file and its recording are known by, "" where they cannot be read any more."""
    files = tuple(file for file in (path, recording_for(path)) if file)
    try:
        return _digest(files, tuple(file.stat().st_mtime_ns for file in files))
    except OSError:
        return ""


@lru_cache(maxsize=256)
def _digest(files: tuple[Path, ...], _changed: tuple[int, ...]) -> str:
    return blake2b(b"".join(file.read_bytes() for file in files), digest_size=16).hexdigest()


def _filled(card: dict[str, Any]) -> KeptCard:
    html, note = card[spoken()]
    return KeptCard(Markup(html.format(*card["pictures"])), note)


@cache
def _written() -> dict[str, dict[str, Any]]:
    cards: dict[str, dict[str, Any]] = json.loads((kernels_dir() / CARDS).read_text("utf-8"))
    return cards
