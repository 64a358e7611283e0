"""What a recording may not say: whoever shows one that was loaded relies on it."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from helpers.strategies import a_launch, a_recording, totals

from smemviz.errors import RecordingError
from smemviz.recordings.archive import write_members
from smemviz.recordings.data import Launch
from smemviz.recordings.file import load
from smemviz.recordings.findings import Finding
from smemviz.recordings.measured import Calibration, SiteHardware, Timing

NAN, INFINITE = float("nan"), float("inf")
DATE = "2026-01-31T12:00:00+00:00"
TIME = Timing(1.0, 0.9, 1.1, 0.8, 1.2, 0.5, 2, 10, (1.0, 1.1), False, DATE, {})
SHARED = SiteHardware(1, 2, 2, None, "agrees", "")
GLOBAL = SiteHardware(1, None, None, 4, "agrees", "")
FINDING = Finding("race", "k", 3, (0, 0, 0), (), "two at once")


def refusal(recording, path):
    """Save a recording and return the one line that it is refused with."""
    recording.save(path)
    with pytest.raises(RecordingError) as caught:
        load(path)
    said = str(caught.value)
    assert "\n" not in said
    return said.removeprefix(f"{path}: is not a recording: ")


def with_site(**changes):
    launch = a_launch(0)
    return a_recording(replace(launch, sites=(replace(launch.sites[0], **changes), *launch.sites[1:])))


def with_array(number=0, **changes):
    arrays = list(a_launch(0).arrays)
    arrays[number] = replace(arrays[number], **changes)
    return a_recording(replace(a_launch(4), arrays=tuple(arrays)))


def with_request(address):
    launch = a_launch(4)
    launch.requests.addresses[2, 5] = address
    return a_recording(launch)


CALIBRATED = a_recording().device
RUNS = [
    ({"file": ""}, "metadata.file is empty"),
    ({"date": "yesterday"}, "metadata.date is not an ISO 8601 date"),
    ({"constants": {"N": "many"}}, "metadata.constants.N is neither a number nor a dtype"),
    ({"constants": {"N": 1 << 5000}}, "metadata.constants.N is too large a number"),
    ({"calibration": Calibration(CALIBRATED, "", {}, ())}, "metadata.calibration.date is not an ISO 8601 date"),
    (
        {"calibration": Calibration(CALIBRATED, DATE, {"load": INFINITE}, ())},
        "metadata.calibration.slopes.load is not a finite number",
    ),
    ({"findings": (replace(FINDING, kind=""),)}, "it has a finding of no kind or in no line"),
    ({"findings": (replace(FINDING, line=0),)}, "it has a finding of no kind or in no line"),
    (
        {"findings": (replace(FINDING, block=(1 << 63, 0, 0)),)},
        "metadata.findings[0].block[0] is a number of more than 64 bits",
    ),
    ({"unrecorded": 1 << 70}, "metadata.unrecorded is a number of more than 64 bits"),
    ({"unrecorded": -1}, "it counts fewer than no launches that were not recorded"),
]
OF_LAUNCH = "metadata.launches[0]"
LAUNCHES = [
    ({"grid": (1 << 30, 1 << 30, 1)}, " has no possible grid or block"),
    ({"kernel": ""}, " is of a kernel without a name, or in no line"),
    ({"line": 0}, " is of a kernel without a name, or in no line"),
    ({"shared_bytes": 1 << 30}, " has more shared memory than any GPU, or less than none"),
    ({"dynamic_shared": -1}, " has more shared memory than any GPU, or less than none"),
    ({"counters": {"a": 1.0}}, " has hardware counts that do not fit its sites"),
    ({"hardware": (SHARED,)}, " has hardware counts that do not fit its sites"),
    ({"hardware": (SHARED, SHARED, SHARED)}, " has hardware counts of another kind of memory than the site's"),
    (
        {"hardware": (SHARED, replace(SHARED, requests=-1), GLOBAL)},
        " has hardware counts of another kind of memory than the site's",
    ),
    ({"time": replace(TIME, median_us=0.0)}, " has a time that is not above zero"),
    ({"time": replace(TIME, samples=0)}, " has a time that is not above zero"),
    ({"time": replace(TIME, samples_us=(-1.0,))}, " has a time that is not above zero"),
    ({"time": replace(TIME, median_us=1e300)}, " has a time of more than a year"),
    ({"time": replace(TIME, date="")}, ".time.date is not an ISO 8601 date"),
    ({"time": replace(TIME, low_us=NAN)}, ".time.low_us is not a finite number"),
    ({"time": replace(TIME, samples_us=(1.0, INFINITE))}, ".time.samples_us[1] is not a finite number"),
]
SITES = [
    ({"op": ""}, "of no known operation or type in line 2"),
    ({"op": "jump"}, "of no known operation or type in line 2"),
    ({"dtype": "float33"}, "of no known operation or type in line 2"),
    ({"width": 2}, "that accesses 2 bytes of int32 in line 2"),
    ({"op": "ldmatrix_x4"}, "that accesses 4 bytes of int32 in line 2"),
    ({"column": -1}, "that ends before it begins in line 2"),
    ({"end_line": 1}, "that ends before it begins in line 2"),
]
ARRAYS = [
    (0, {"shape": (), "strides": ()}, "an array of 0 dimensions: tile"),
    (1, {"shape": (1,) * 17, "strides": (4,) * 17}, "an array of 17 dimensions: out"),
    (0, {"strides": (4 << 20, 4)}, "an array that no GPU's shared memory holds: tile"),
    (0, {"address": 1 << 40}, "an array that no GPU's shared memory holds: tile"),
    (0, {"address": -4}, "an array that no GPU's shared memory holds: tile"),
    (0, {"strides": (-128, 4), "address": 8192}, "a shared array that runs backwards: tile"),
    (0, {"shape": (1 << 11, 1 << 10), "strides": (0, 0)}, "2097152 elements in shared arrays; 1048576 are allowed"),
    (1, {"address": 1 << 62}, "an array that no GPU's global memory holds: out"),
    (1, {"shape": (1 << 32, 1 << 32), "strides": (0, 0)}, "an array that no GPU's global memory holds: out"),
    (1, {"dtype": "V0"}, "an array of no possible type or shape: out"),
    (0, {"dtype": "O"}, "an array of no possible type or shape: tile"),
    (0, {"dtype": "i4,i4"}, "an array of no possible type or shape: tile"),
    (0, {"shape": (-1, 32)}, "an array of no possible type or shape: tile"),
    (0, {"shape": (32,)}, "an array whose shape and strides differ in length: tile"),
    (0, {"shape": (10**9, 10**9)}, "an array that no GPU's shared memory holds: tile"),
    # Errors keep to one line whatever a recording holds.
    (0, {"name": "a\nb\r\x1b[2J\x85c", "dtype": "O"}, "an array of no possible type or shape: a b [2J c"),
]
MANY = replace(totals(a_launch(4)), sectors=np.full(3, 1 << 62))


def test_what_a_recording_says_is_checked(tmp_path):
    for recording, said in [
        *((replace(a_recording(), **changes), said) for changes, said in RUNS),
        *((a_recording(replace(a_launch(4), **changes)), OF_LAUNCH + said) for changes, said in LAUNCHES),
        *((with_site(**changes), f"{OF_LAUNCH} has a site {said}") for changes, said in SITES),
        *((with_array(number, **changes), f"{OF_LAUNCH} has {said}") for number, changes, said in ARRAYS),
        (with_request(1 << 61), "set_row_read_col has a request to an address that no GPU has"),
        (
            with_request(1026),
            "set_row_read_col has a request to an address that is not a multiple of the bytes it accesses",
        ),
        (a_recording(replace(a_launch(4), totals=MANY)), "its totals count more sectors than can be"),
    ]:
        assert refusal(recording, tmp_path / "r.smem.npz") == said


def test_a_complex_number_may_begin_in_the_middle_of_eight_bytes(tmp_path):
    """As in shared memory behind an array of an odd number of floats, on a GPU."""
    launch = a_launch(4)
    sites = tuple(replace(site, dtype="complex64", width=8) for site in launch.sites)
    launch.requests.addresses[:] = 1028 + 8 * np.arange(32)
    a_recording(replace(launch, sites=sites)).save(tmp_path / "r.smem.npz")
    assert load(tmp_path / "r.smem.npz").launches[0].requests.addresses[0, 0] == 1028


def test_half_of_a_letter_is_no_text(tmp_path):
    path = tmp_path / "r.smem.npz"
    a_recording().save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    metadata = json.loads(members["metadata.json"])
    metadata["launches"][0]["sites"][0]["source"] = "tile[\ud800]"
    write_members(path, members | {"metadata.json": json.dumps(metadata).encode()})
    with pytest.raises(RecordingError, match=r"metadata\.json holds text that is not Unicode$"):
        load(path)
    metadata["launches"][0]["sites"][0]["source"] = "tile[\U0001f600]"  # two halves, as JSON writes it
    write_members(path, members | {"metadata.json": json.dumps(metadata).encode()})
    assert load(path).launches[0].sites[0].source == "tile[\U0001f600]"


def test_a_recording_of_names_that_are_no_text_is_not_saved(tmp_path):
    """A file's name may be bytes that are no UTF-8; Python hands them on as halves of letters."""
    with pytest.raises(RecordingError, match=r"is not UTF-8; rename it$"):
        replace(a_recording(), file="\udcff.py").save(tmp_path / "r.smem.npz")


def test_an_array_of_records_and_an_empty_one_are_kept(tmp_path):
    """Lockstep notes an array of records by the bytes of one."""
    launch: Launch = a_launch(4)
    tile = replace(launch.arrays[0], dtype="V16", shape=(32,), strides=(16,))
    empty = replace(launch.arrays[1], shape=(0, 5), strides=(20, 4))
    recording = a_recording(replace(launch, arrays=(tile, empty)))
    recording.save(tmp_path / "r.smem.npz")
    assert load(tmp_path / "r.smem.npz").launches[0].arrays == (tile, empty)
