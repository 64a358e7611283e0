"""What is saved is what is loaded, and where a recording is saved to."""

import json
import os
import sys
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from helpers.strategies import a_launch, a_recording, recordings, requests, totals
from hypothesis import given

from smemviz.errors import InputError, RecordingError
from smemviz.recordings.file import load
from smemviz.recordings.recording import MAX_REQUESTS


def assert_same(one, other):
    """Compare two recordings field by field, NaN equal to NaN and every array of the same dtype."""

    def bare(recording):
        none = requests(0)
        return replace(
            recording, launches=tuple(replace(launch, requests=none, totals=None) for launch in recording.launches)
        )

    assert repr(asdict(bare(one))) == repr(asdict(bare(other)))
    for a, b in zip(one.launches, other.launches, strict=True):
        pairs = [(a.requests, b.requests)]
        assert (a.totals is None) == (b.totals is None)
        if a.totals is not None and b.totals is not None:
            pairs.append((a.totals, b.totals))
        for x, y in pairs:
            for name in asdict(x):
                left, right = getattr(x, name), getattr(y, name)
                assert left.dtype == right.dtype
                np.testing.assert_array_equal(left, right)


# --- what is kept


@given(recording=recordings())
def test_what_is_saved_is_what_is_loaded(recording, tmp_path):
    recording.save(tmp_path / "r.smem.npz")
    assert_same(load(tmp_path / "r.smem.npz"), recording)


def test_launches_of_different_length_keep_their_own_requests_and_totals(tmp_path):
    short, long = a_launch(3), a_launch(70)
    recording = a_recording(short, replace(long, totals=totals(long)), a_launch(0))
    recording.save(tmp_path / "r.smem.npz")
    loaded = load(tmp_path / "r.smem.npz")
    assert_same(loaded, recording)
    assert [launch.missing for launch in loaded.launches] == [0, 3000, 0]


def test_the_same_recording_gives_the_same_bytes(tmp_path):
    a_recording().save(tmp_path / "one")
    a_recording().save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_numpy_alone_reads_the_columns(path):
    with np.load(path, allow_pickle=False) as file:
        assert file["addresses"].shape == (96, 32)
        assert file["site"].dtype == np.int8
        assert json.loads(file["metadata.json"])["schema"] == 1


def test_a_failed_save_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    before = path.read_bytes()

    def full(self, *_, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(InputError, match=r"a\.smem\.npz: cannot be written: No space left on device"):
        a_recording().save(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["a.smem.npz"]


@pytest.mark.parametrize(
    ("path", "said"),
    [*((path, "Is a directory") for path in (".", "", "/")), ("no/x.smem.npz", "No such file or directory")],
)
def test_saving_where_no_file_can_be_is_one_line(path, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"cannot be written: {said}"):
        a_recording().save(path)


def test_a_pipe_a_device_or_a_link_to_itself_is_not_replaced(tmp_path):
    pipe, null, one, other = (tmp_path / f"{name}.smem.npz" for name in ("pipe", "null", "one", "other"))
    os.mkfifo(pipe)
    for link, target in [(null, "/dev/null"), (one, other), (other, one)]:
        link.symlink_to(target)
    irregular = "it is not a regular file; name another"
    for path, why in [(pipe, irregular), (null, irregular), (one, "Too many levels of symbolic links")]:
        before = path.lstat()
        with pytest.raises(InputError, match=rf"cannot be written: {why}$"):
            a_recording().save(path)
        assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert Path("/dev/null").is_char_device()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lets not everybody link")
def test_what_a_symlink_points_at_is_replaced_and_the_link_stays(tmp_path):
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "link.smem.npz", tmp_path / "there" / "r.smem.npz"
    link.symlink_to(target)
    for _ in ("new", "replaced"):
        a_recording().save(link)
        assert link.is_symlink()
        assert_same(load(target), a_recording())
    assert [path.name for path in target.parent.iterdir()] == ["r.smem.npz"]


def test_more_requests_than_a_file_holds_are_not_saved(tmp_path):
    half = a_launch(0)
    half = replace(half, requests=requests(MAX_REQUESTS // 2 + 1))
    with pytest.raises(RecordingError, match=f"{MAX_REQUESTS + 2} logged requests; a file holds {MAX_REQUESTS}"):
        a_recording(half, half).save(tmp_path / "r.smem.npz")
