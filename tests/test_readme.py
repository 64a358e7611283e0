"""The README's pictures are there, are made by the script, and say in words what they show."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURES = re.findall(r"!\[([^\]]*)\]\((\S+)\)", (ROOT / "README.md").read_text("utf-8"))


def test_every_picture_is_there_and_is_described() -> None:
    assert len(PICTURES) >= 8
    for words, path in PICTURES:
        assert (ROOT / path).stat().st_size > 10_000, path
        assert len(words.split()) >= 4, path


def test_every_picture_is_one_that_the_script_makes() -> None:
    script = (ROOT / "tools" / "pictures.py").read_text("utf-8")
    made = set(re.findall(r'Shot\(\s*"(\w+)"', script)) | set(re.findall(r'"(\w+)": \("', script))
    assert {Path(path).stem for _, path in PICTURES} == made
    assert {path.stem for path in (ROOT / "docs").iterdir()} == made
