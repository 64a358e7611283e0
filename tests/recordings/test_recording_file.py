"""What a recording's file keeps, and what a hostile one cannot do."""

import io
import json
import re
import subprocess
import sys
import tracemalloc
import zipfile
from dataclasses import replace
from time import process_time

import numpy as np
import pytest
from helpers.strategies import a_launch, a_recording, totals
from hypothesis import given
from hypothesis import strategies as st

from smemviz.errors import RecordingError
from smemviz.recordings.file import load

LIMIT_SECONDS = 1.0
LIMIT_BYTES = 200e6


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def npy(array, allow_pickle=False):
    content = io.BytesIO()
    np.lib.format.write_array(content, array, allow_pickle=allow_pickle)
    return content.getvalue()


def refusal(path):
    """Load a file that must be refused, in bounded time and memory, and return the one line it is refused with."""
    tracemalloc.start()
    start = process_time()
    with pytest.raises(RecordingError) as caught:
        load(path)
    seconds = process_time() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < LIMIT_SECONDS
    assert peak < LIMIT_BYTES - 60e6  # the interpreter and NumPy have their share
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"{path}: ")
    return line.removeprefix(f"{path}: ").removeprefix("is not a recording: ")


def spoil(path, **changes):
    """Replace keys of the metadata, or of its first launch where the key is written launch_KEY."""
    members = members_of(path)
    metadata = json.loads(members["metadata.json"])
    for key, value in changes.items():
        if key.startswith("launch_"):
            metadata["launches"][0][key.removeprefix("launch_")] = value
        else:
            metadata[key] = value
    members["metadata.json"] = json.dumps(metadata).encode()
    write_members(path, members)


# --- what is refused: files that are none


def test_what_is_no_file_of_ours_is_refused(tmp_path, path):
    assert refusal(tmp_path / "none.smem.npz") == "no such file"
    assert refusal(tmp_path) == "is not a file; name a *.smem.npz file"
    noise = np.random.default_rng(1).bytes(10_000)
    for content, said in [(b"", "it is empty"), (noise, "it is cut short, or was never a zip archive")]:
        path.write_bytes(content)
        assert refusal(path) == said


def test_a_file_cut_anywhere_is_refused(path):
    whole = path.read_bytes()
    for size in (1, 21, 22, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert "it is cut short" in refusal(path)


@given(data=st.data())
def test_a_file_with_any_bytes_changed_is_refused_or_read(data, tmp_path):
    path = tmp_path / "changed.smem.npz"
    a_recording(a_launch(4)).save(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        load(path)
    except RecordingError as error:
        assert "\n" not in str(error)  # noqa: PT017  either outcome is right; a traceback is not


# --- what is refused: bombs


@pytest.mark.exhaustive
def test_a_bomb_that_says_so_is_refused(path):
    members = members_of(path)
    members["addresses.npy"] = bytes(600 << 20)
    write_members(path, members)
    assert "addresses.npy is not a NumPy array" in refusal(path)
    members["addresses.npy"] = b""
    members["metadata.json"] = bytes(600 << 20)
    write_members(path, members)
    assert refusal(path) == "its member metadata.json declares 629145600 bytes; 25165824 are allowed"


@pytest.mark.exhaustive
def test_a_bomb_with_a_true_header_is_refused(path):
    members = members_of(path)
    members["addresses.npy"] = npy(np.zeros((2_000_000, 32), np.int64))
    write_members(path, members)
    assert refusal(path) == "its member addresses.npy has shape (2000000, 32); (96, 32) is needed"


@pytest.mark.exhaustive
def test_a_bomb_whose_directory_lies_is_refused(path):
    """The zip says 1,000 bytes; the stream behind it inflates to 300 MB."""
    members = members_of(path)
    members["metadata.json"] = bytes(300 << 20)
    write_members(path, members)
    content = path.read_bytes()
    assert content.count((300 << 20).to_bytes(4, "little")) == 2  # local header and directory
    path.write_bytes(content.replace((300 << 20).to_bytes(4, "little"), (1000).to_bytes(4, "little")))
    assert refusal(path) == "it is damaged (Bad CRC-32 for file 'metadata.json')"


def test_a_zip_directory_of_a_million_entries_is_refused(path):
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(3000):
            archive.writestr(f"{i}.npy", b"")
    assert refusal(path) == "its zip directory is larger than a recording's"


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process's memory is read from /proc")
def test_the_command_refuses_a_bomb_within_its_bounds(path):
    """Exit 2, one line, and under 200 MB for the whole process."""
    members = members_of(path)
    members["values.npy"] = npy(np.zeros((3_000_000, 32)))
    write_members(path, members)
    measured = "from smemviz.cli.main import main; code = main(); print(open('/proc/self/status').read()); exit(code)"
    done = subprocess.run([sys.executable, "-c", measured, "show", path], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        f"smemviz: {path}: is not a recording: its member values.npy has shape (3000000, 32); (96, 32) is needed\n"
    )
    peak = re.search(r"VmHWM:\s+(\d+) kB", done.stdout)
    assert int(peak[1]) * 1024 < LIMIT_BYTES


# --- what is refused: members


class Loaded:
    """Says so when it is unpickled."""

    def __reduce__(self):
        return print, ("unpickled",)


def test_a_pickled_member_is_refused_and_not_run(path, capsys):
    members = members_of(path)
    members["site.npy"] = npy(np.array([Loaded()] * 96, object), allow_pickle=True)
    write_members(path, members)
    assert refusal(path).startswith("its member site.npy has dtype |O;")
    assert capsys.readouterr().out == ""


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(path):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("site.npy", b"")
    assert refusal(path) == "two of its members have the same name"


def test_another_member_column_or_compression_is_refused(path):
    members, json_of = members_of(path), "metadata.json"
    shape, dtype = "has shape {}; (96,) is needed", "has dtype {}; |i1 or <i2 or <i4 or <i8 is allowed"
    wide = npy(np.zeros((96, 31), np.int64))
    not_json = "metadata.json is not JSON in UTF-8"
    for name, content, said in [
        ("../evil", b"", "its member '../evil' is unknown"),
        ("warp.npy", None, "its member 'warp.npy' is missing"),
        ("addresses.npy", members["addresses.npy"][:-8], "its member addresses.npy has shape (96, 32); (96, 32) is n"),
        ("addresses.npy", wide, "its member addresses.npy has shape (96, 31); (96, 32) is needed"),
        (json_of, b"[" * 5_000_000, "metadata.json is nested too deeply"),
        (json_of, None, "it has no metadata.json"),
        *((json_of, text, not_json) for text in (b"", b"{", b"\xff\xfe{}", b'{"a": "\x80"}', b"[1" + b"0" * 5000)),
        *(
            ("site.npy", npy(array), f"its member site.npy {says}")
            for array, says in [
                (np.zeros(95, np.int32), shape.format("(95,)")),
                (np.zeros((96, 1), np.int32), shape.format("(96, 1)")),
                (np.zeros(96, np.float64), dtype.format("<f8")),
                (np.zeros(96, np.uint8), dtype.format("|u1")),
                (np.full(96, -1, np.int8), "holds a number below 0"),
            ]
        ),
        *(  # a row that refers to nothing
            (f"{column}.npy", npy(np.full(96, value, np.int64)), f"a request whose {column} is not below {limit}")
            for column, value, limit in [("site", 3, 3), ("block", 1, 1), ("warp", 32, 32), ("step", 1 << 31, 1 << 31),
                                         ("epoch", 1 << 40, 1 << 31)]
        ),
    ]:  # fmt: skip
        others = {one: held for one, held in members.items() if one != name}
        write_members(path, others | ({} if content is None else {name: content}))
        assert said in refusal(path), (name, said)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert refusal(path) == "its member 'metadata.json' is encrypted or compressed in another way"


# --- what is refused: metadata


FINDING = {"kind": "race", "kernel": "k", "line": 3, "block": [0, 0, 0], "threads": [], "message": "two at once"}


def test_a_finding_of_an_older_file_is_of_no_launch(path):
    spoil(path, findings=[FINDING])
    assert [finding.launch for finding in load(path).findings] == [None]


def test_metadata_of_another_type_or_range_is_refused(path):
    members = members_of(path)
    for change, said in [
        ({"schema": 2, "launches": "something new"}, "it has schema 2 and this smemviz reads 1; update smemviz"),
        *(({"schema": schema}, "metadata.json names no schema") for schema in (None, "1", 1.0, True, 0, -1)),
        ({"file": 3}, "metadata.file has the wrong type"),
        ({"engine": "guess"}, "metadata.engine is not one of gpu, lockstep"),
        ({"engine": ["gpu"]}, "metadata.engine is not one of gpu, lockstep"),
        ({"constants": {"N": [1]}}, "metadata.constants.N has the wrong type"),
        ({"device": {"name": "H200"}}, "metadata.device has no compute_capability"),
        ({"device": 9}, "metadata.device has the wrong type"),
        ({"launches": None}, "metadata.launches is not a list"),
        ({"launches": [7]}, "metadata.launches[0] has the wrong type"),
        ({"launch_grid": [1, 1]}, "metadata.launches[0].grid has 2 entries; it needs 3"),
        ({"launch_grid": [1, 1, True]}, "metadata.launches[0].grid[2] has the wrong type"),
        ({"launch_grid": [0, 1, 1]}, "metadata.launches[0] has no possible grid or block"),
        ({"launch_block": [32, 33, 1]}, "metadata.launches[0] has no possible grid or block"),
        ({"launch_logged": -1}, "metadata.launches[0] does not say how many requests are logged"),
        ({"launch_logged": 95}, "its member addresses.npy has shape (96, 32); (95, 32) is needed"),
        ({"launch_logged": 10**12}, "it declares 1000000000000 requests; a file holds 262144"),
        ({"launch_has_totals": True}, "its member 'totals_degrees.npy' is missing"),
        ({"launch_sites": [{"line": 1}]}, "metadata.launches[0].sites[0] has no column"),
        ({"findings": {}}, "metadata.findings has the wrong type"),
        ({"findings": [FINDING | {"launch": "0"}]}, "metadata.findings[0].launch has the wrong type"),
        ({"findings": [FINDING | {"launch": 1}]}, "it has a finding in launch 1 of 1"),
        ({"findings": [FINDING | {"launch": -1}]}, "it has a finding in launch -1 of 1"),
    ]:
        write_members(path, members)
        spoil(path, **change)
        assert refusal(path) == said


def test_totals_below_what_is_logged_are_refused(tmp_path):
    launch = a_launch()
    path = tmp_path / "r.smem.npz"
    a_recording(replace(launch, totals=totals(launch, more=-1))).save(path)
    assert refusal(path) == "set_row_read_col has more requests logged than counted"
