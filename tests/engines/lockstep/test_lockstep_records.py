"""Records within records of any size, and dtypes written as one text."""

import numpy as np
import pytest
from helpers.lockstep_text import body, result

from smemviz.errors import UnsupportedError

PAIR = 'PAIR = np.dtype([("x", np.float32), ("y", np.int32)], align=True)\n'  # 8 bytes
PADDED = 'PADDED = np.dtype([("y", np.float64), ("x", np.int32)], align=True)\n'  # 12 bytes of 16
INNER = 'INNER = np.dtype([("p", [("x", np.float32), ("y", np.float32)]), ("v", np.int32, (3,))])\n'  # 20 bytes


def test_a_record_in_records_of_any_size_has_fields():
    for space in ["shared", "local"]:
        text = f"""
        s = cuda.{space}.array(64, INNER)
        i = cuda.grid(1)
        s[i].p.x = i
        s[i].p.y = 2 * i
        s[i]["v"][2] = s[i]["p"]["y"]
        s[63 - i].p.x = s[i].p.x
        s[63 - i].p.y = s[i].p.y
        out[i] = 1000 * s[63 - i].p.x + s[63 - i].p.y + s[i].v[2]
    """
        _, findings = body(text, out := np.zeros(32), before=INNER)
        assert findings == ()
        assert out.tolist() == [1004 * i for i in range(32)]


def test_local_records_are_viewed_as_the_numbers_in_them():
    text = "l = cuda.local.array(2, PAIR)\nl[1].x = 2.5 + cuda.grid(1)\nout[cuda.grid(1)] = l.view(np.float32)[2]"
    assert result(text, "float64", before=PAIR).tolist() == [2.5 + i for i in range(32)]


def test_what_is_not_copied_is_refused_in_one_line():
    for text, says in [
        (
            "l = cuda.local.array(2, PADDED)\nv = l.view(np.float32)",
            "local array at line 10 has records of numbers of several sizes, which are not viewed as float32 in "
            "lockstep; use its fields",
        ),
        (
            "l = cuda.local.array(2, PADDED)\nl[:] = l[0]",
            "l[0]: an array or a record is copied whole; copy its parts one by one",
        ),
        (
            "l = cuda.local.array(2, PADDED)\nl[0] = 5",
            "assignment to l[0]: Numba does not compile it for CUDA; write its parts one by one",
        ),
        (
            "l = cuda.local.array(2, LARGE)\nl[0] = l[1]",
            "l[1]: an array or a record is copied whole; copy its parts one by one",
        ),
        ("l = cuda.local.array(2, LARGE)\nr = l[0]\nx = r[0]", "r[0]: a field is taken by its name here; write r['v']"),
    ]:
        with pytest.raises(UnsupportedError) as error:
            result(text, before=PADDED + 'LARGE = np.dtype([("v", np.int32, (300,))])\n')
        assert error.value.what == says


def test_a_dtype_of_records_is_written_as_one_text():
    for space in ["shared", "local"]:
        text = (
            f"s = cuda.{space}.array(32, 'i4,f4')\ni = cuda.grid(1)\ns[i].f0 = i\ns[i]['f1'] = 0.5\nout[i] = s[i].f0 + "
        )
        text += "s[i].f1"
        assert result(text, "float64").tolist() == [i + 0.5 for i in range(32)]
