"""Cards of the gallery that are kept written: what would be made of the files, as long as these are the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from smemviz.app.library import Library
from smemviz.app.pages.gallery_cards import CARDS, card_files, digest_of, kept_cards, write_cards
from smemviz.app.pages.gallery_page import made_card
from smemviz.i18n import LANGUAGES, speaking
from smemviz.paths import every_gallery, kernels_dir, recording_for

WRITTEN = json.loads((kernels_dir() / CARDS).read_text("utf-8"))
OLD = "tools/gallery_cards.py writes the cards anew"


def test_every_file_of_the_gallery_has_a_card_of_what_it_is_now():
    library = Library(every_gallery())
    assert {file: card["digest"] for file, card in WRITTEN.items()} == {
        file: digest_of(library.path_of(file)) for file in card_files(library)
    }, OLD


def without_notes(cards: dict[str, Any]) -> dict[str, Any]:
    return {file: card | {tag: card[tag][0] for tag in LANGUAGES} for file, card in cards.items()}


@pytest.mark.parametrize(
    "names", [{"square", "turn.cu"}, pytest.param(set(WRITTEN), marks=pytest.mark.exhaustive)], ids=["some", "all"]
)
def test_a_card_that_is_kept_is_the_one_that_would_be_made(names):
    library = Library([path for path in every_gallery() if {path.name, path.stem} & {Path(n).name for n in names}])
    written = json.loads(write_cards(library, lambda file: made_card(library, file)))
    assert without_notes(written) == without_notes({file: WRITTEN[file] for file in card_files(library)}), OLD
    for tag in LANGUAGES:
        with speaking(tag):
            for file, kept in kept_cards(library).items():
                made = made_card(library, file)
                assert kept.html == made.html
                assert kept.note == made.note or recording_for(library.path_of(file)) is None  # it says when it ran


def test_a_file_that_was_changed_has_no_card_that_is_kept(tmp_path):
    path = tmp_path / "square.py"
    path.write_bytes((kernels_dir() / "square.py").read_bytes() + b"# more\n")
    assert kept_cards(Library([path])) == {}


def test_a_file_that_is_gone_has_no_card_that_is_kept(tmp_path):
    path = tmp_path / "square.py"
    path.write_bytes((kernels_dir() / "square.py").read_bytes())
    library = Library([path])
    path.unlink()
    assert kept_cards(library) == {}
