"""A folder that processes share holds the latest files, and no more than it may."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from smemviz.engines.sandbox.shared_folder import SharedFolder

CONTENT = bytes(1000)


def written(folder: SharedFolder, path: Path, names: str) -> None:
    """Write files one second after the other, all long ago; the draft of a process that ended comes first."""
    (path / ".draft").write_bytes(CONTENT)
    for name in names:
        folder.write(name, CONTENT)
    for second, name in enumerate([".draft", *names]):
        os.utime(path / name, (second, second))


@pytest.mark.parametrize(
    ("room", "left"),
    [
        ({"most_files": 3}, "cde"),
        ({"most_bytes": 2500}, "de"),
        ({"most_files": 3, "most_bytes": 2500}, "de"),
        ({"most_files": 1, "most_bytes": 2500}, "e"),
        ({"most_bytes": 999}, ""),
    ],
)
def test_the_latest_are_kept_and_drafts_that_were_left_go_first(
    tmp_path: Path, room: dict[str, int], left: str
) -> None:
    folder = SharedFolder(tmp_path)
    written(folder, tmp_path, "abcd")
    SharedFolder(tmp_path, **room).write("e", CONTENT)
    assert sorted(path.name for path in tmp_path.iterdir()) == list(left)


def test_what_is_written_again_is_the_latest_and_stays_as_it_was(tmp_path: Path) -> None:
    folder = SharedFolder(tmp_path, most_files=3)
    written(folder, tmp_path, "ab")
    folder.write("a", b"another")
    folder.write("c", CONTENT)
    folder.write("d", CONTENT)
    assert [folder.read(name) for name in "abcd"] == [CONTENT, None, CONTENT, CONTENT]


def test_the_one_just_written_stays_where_all_have_the_same_time(tmp_path: Path) -> None:
    folder = SharedFolder(tmp_path, most_files=1)
    for name in "abcd":
        folder.write(name, CONTENT)
        os.utime(tmp_path / name, (1 << 40, 1 << 40))
        assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_that_was_taken_away_is_empty(tmp_path: Path) -> None:
    folder = SharedFolder(tmp_path / "shared", most_files=1)
    (tmp_path / "shared").rmdir()
    folder.write("a", CONTENT)
    assert folder.read("a") is None
