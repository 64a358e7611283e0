"""Records that are copied whole, those within records of any size, and dtypes written as one text."""

from collections import Counter

import numpy as np
import pytest
from helpers.lockstep_text import body, result, rows, what

from smemviz.errors import UnsupportedError

PAIR = 'PAIR = np.dtype([("x", np.float32), ("y", np.int32)], align=True)\n'  # 8 bytes
PADDED = 'PADDED = np.dtype([("y", np.float64), ("x", np.int32)], align=True)\n'  # 12 bytes of 16
INNER = 'INNER = np.dtype([("p", [("x", np.float32), ("y", np.float32)]), ("v", np.int32, (3,))])\n'  # 20 bytes
SWAP = """
    s = cuda.shared.array(32, {dtype})
    i = cuda.grid(1)
    s[i].x = i
    s[i].y = 2 * i
    cuda.syncthreads()
    if i < 16:
        t = s[i]
        s[i] = s[31 - i]
        s[31 - i] = t
    cuda.syncthreads()
    out[i] = 100 * s[i].x + s[i].y
"""


def counts(launch):
    """Return how many requests of how many bytes each site has, by its text."""
    numbers = Counter(launch.requests.site.tolist())
    return [(site.source, site.op, site.width, numbers[k]) for k, site in enumerate(launch.sites)]


@pytest.mark.parametrize(("before", "dtype"), [(PAIR, "PAIR"), (PADDED, "PADDED")])
def test_a_name_of_a_record_is_the_record_itself_so_that_a_swap_through_it_loses_one(before, dtype):
    mirrored = [31 - i if i < 16 else i for i in range(32)]
    assert result(SWAP.format(dtype=dtype), before=before).tolist() == [102 * i for i in mirrored]


def test_a_record_is_copied_byte_by_byte_as_numba_copies_it():
    # Numba makes of s[i] = s[31 - i] eight ld.shared.u8 and eight st.shared.u8.
    launch, _ = body(SWAP.format(dtype="PAIR"), np.zeros(32), before=PAIR)
    assert counts(launch)[2:6] == [
        ("s[31 - i]", "load", 1, 8),
        ("s[i]", "store", 1, 8),
        ("t", "load", 1, 8),
        ("s[31 - i]", "store", 1, 8),
    ]
    first = launch.shared_arrays[0].address
    loaded = rows(launch, 2)[:, :16] - first
    assert loaded.tolist() == [[8 * (31 - lane) + byte for lane in range(16)] for byte in range(8)]


def test_several_targets_are_given_the_items_of_a_tuple_with_a_star():
    text = """
        l = cuda.local.array(4, PAIR)
        i = cuda.grid(1)
        l[0].x = i
        l[1].x = 5
        both = (l[0], l[1])
        l[2], l[3], last = (*both, 100)
        out[i] = l[2].x + 10 * l[3].x + last
    """
    assert result(text, before=PAIR).tolist() == [150 + i for i in range(32)]


def test_what_lies_between_the_fields_is_copied_too_and_not_said_to_be_unwritten():
    launch, findings = body(SWAP.format(dtype="PADDED"), np.zeros(32), before=PADDED, harmless=True)
    assert findings == ()
    assert counts(launch)[2:4] == [("s[31 - i]", "load", 1, 16), ("s[i]", "store", 1, 16)]


def test_a_record_that_nobody_wrote_and_one_that_another_thread_stores_are_found():
    text = "s = cuda.shared.array(32, PAIR)\ni = cuda.grid(1)\ns[i].x = 1\ns[i] = s[(i + 1) % 32]"
    _, findings = body(text, np.zeros(32), before=PAIR)
    assert {finding.kind for finding in findings} == {"unwritten_read", "race"}


def test_an_index_out_of_bounds_copies_nothing_there():
    items = np.zeros(32, np.dtype([("x", np.float32)]))
    items["x"] = np.arange(32)
    to = np.zeros_like(items)
    _, (finding,) = body("i = cuda.grid(1)\nto[i] = items[i + 3]", items, to, parameters="items, to")
    assert what(finding) == "items[32] is outside shape (32,)"
    assert to["x"].tolist() == [*range(3, 32), 0, 0, 0]


def test_records_of_arguments_are_copied_in_global_memory():
    dtype = np.dtype([("x", np.float32), ("y", np.float64), ("z", np.int16, (3,))], align=True)
    items = np.zeros(64, dtype)
    items["x"][:32], items["y"][:32], items["z"][:32, 2] = np.arange(32), np.arange(32) * 2, np.arange(32) * 3
    launch, _ = body("i = cuda.grid(1)\nitems[63 - i] = items[i]", items, parameters="items")
    assert (items[32:][::-1] == items[:32]).all()
    assert counts(launch) == [("items[i]", "load", 1, 24), ("items[63 - i]", "store", 1, 24)]


@pytest.mark.parametrize("space", ["shared", "local"])
def test_a_record_in_records_of_any_size_has_fields_and_is_copied(space):
    text = f"""
        s = cuda.{space}.array(64, INNER)
        i = cuda.grid(1)
        s[i].p.x = i
        s[i].p.y = 2 * i
        s[i]["v"][2] = s[i]["p"]["y"]
        s[63 - i].p = s[i].p
        out[i] = 1000 * s[63 - i].p.x + s[63 - i].p.y + s[i].v[2]
    """
    launch, findings = body(text, out := np.zeros(32), before=INNER)
    assert findings == ()
    assert out.tolist() == [1004 * i for i in range(32)]
    assert (("s[i].p", "load", 1, 8) in counts(launch)) == (space == "shared")


def test_the_array_in_a_record_is_copied_item_by_item():
    # Numba makes of it ld.shared.u32 and st.shared.u32, one after the other, three times.
    text = """
        s = cuda.shared.array(64, INNER)
        i = cuda.grid(1)
        for k in range(3):
            s[i].v[k] = i * 10 + k
        s[i + 32].v = s[i].v
        out[i] = s[i + 32].v[2] + s[i + 32].v[0]
    """
    launch, _ = body(text, out := np.zeros(32), before=INNER)
    assert out.tolist() == [20 * i + 2 for i in range(32)]
    assert counts(launch)[1:3] == [("s[i].v", "load", 4, 3), ("s[i + 32].v", "store", 4, 3)]


def test_local_records_are_viewed_as_the_numbers_in_them():
    text = "l = cuda.local.array(2, PAIR)\nl[1].x = 2.5 + cuda.grid(1)\nout[cuda.grid(1)] = l.view(np.float32)[2]"
    assert result(text, "float64", before=PAIR).tolist() == [2.5 + i for i in range(32)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "l = cuda.local.array(2, PADDED)\nv = l.view(np.float32)",
            "local array at line 10 has records of numbers of several sizes, which are not viewed as float32 in "
            "lockstep; use its fields",
        ),
        ("l = cuda.local.array(2, PADDED)\nl[:] = l[0]", "l[:]: records are stored one by one; write a loop"),
        (
            "l = cuda.local.array(2, PADDED)\nl[0] = 5",
            "assignment to l[0]: Numba does not compile it for CUDA; write a record of the same fields, or its fields "
            "one by one",
        ),
        (
            "l = cuda.local.array(2, LARGE)\nl[0] = l[1]",
            "a record of 1,200 bytes is not copied whole in lockstep; copy its fields",
        ),
        ("l = cuda.local.array(2, LARGE)\nr = l[0]\nx = r[0]", "r[0]: a field is taken by its name here; write r['v']"),
    ],
)
def test_what_is_not_copied_is_refused_in_one_line(text, says):
    with pytest.raises(UnsupportedError) as error:
        result(text, before=PADDED + 'LARGE = np.dtype([("v", np.int32, (300,))])\n')
    assert error.value.what == says


@pytest.mark.parametrize("space", ["shared", "local"])
def test_a_dtype_of_records_is_written_as_one_text(space):
    text = f"s = cuda.{space}.array(32, 'i4,f4')\ni = cuda.grid(1)\ns[i].f0 = i\ns[i]['f1'] = 0.5\nout[i] = s[i].f0 + "
    text += "s[i].f1"
    assert result(text, "float64").tolist() == [i + 0.5 for i in range(32)]
