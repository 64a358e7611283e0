"""The table of what is in and what is out is what the engine does."""

import numpy as np
import pytest
from helpers.lockstep_text import body

from smemviz.engines.lockstep.coverage import python_rows
from smemviz.engines.lockstep.python.functions import names
from smemviz.errors import UnsupportedError

BEFORE = """
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

TABLE = np.arange(4, dtype=np.float64)

@cuda.jit(device=True)
def twice(x):
    return x + x

@cuda.jit(device=True)
def applied(function, x):
    return function(x)

@cuda.jit(device=True)
def added(*items):
    return sum(items)

@cuda.jit(device=True)
def endless(x):
    return endless(x)

@cuda.jit(device=True)
def raising(x):
    raise ValueError

"""
RECORD = np.dtype([("x", np.float32), ("y", np.float64)], align=True)
STATE = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
EXAMPLES = [row for row in python_rows() if row.example]


def run(row):
    arguments = np.zeros(8), np.arange(8.0), np.arange(16.0).reshape(4, 4), np.zeros(4, RECORD), np.ones(2, STATE)
    return body(row.example, *arguments, parameters="out, data, table, records, states", before=BEFORE, block=1)


def test_what_is_in_runs():
    for row in [r for r in EXAMPLES if r.executed]:
        launch, findings = run(row)
        assert findings == ()
        assert launch.kernel == "kernel"


def test_what_is_out_is_refused_with_its_sentence():
    for row in [r for r in EXAMPLES if not r.executed]:
        with pytest.raises(UnsupportedError) as error:
            run(row)
        assert error.value.what == row.says


def test_every_name_with_a_rule_is_listed_once():
    listed = [row.feature for row in python_rows() if not row.example and not row.feature.startswith("cuda.random.")]
    assert sorted(listed) == sorted({*names.VALUES, *names.CALLS})


def test_features_prints_both_tables_and_the_same_as_json(command):
    text = command("features").out
    assert "cuda.shfl_sync" in text.replace("\n", "")
    found = command("features", "--json").json
    python = [f["feature"] for f in found["features"] if not f["group"].startswith("PTX")]
    assert python == [row.feature for row in python_rows()]
    assert {f["says"] for f in found["features"] if f["executed"]} == {None}
    otherwise = [f["feature"] for f in found["features"] if "otherwise" in f]
    assert len(otherwise) == 4
    assert all(feature.split()[0] in text.partition("perhaps otherwise")[2] for feature in otherwise)
