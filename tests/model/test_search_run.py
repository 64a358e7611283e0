"""Every suggestion, run: with the declaration and index it writes, a kernel costs what was promised and stays right."""

import pytest
from helpers.tiers import one_in

import smemviz
from smemviz.model.layout.accesses import access_of
from smemviz.model.layout.array_requests import array_requests
from smemviz.model.layout.code import code
from smemviz.model.layout.layouts import layout_of
from smemviz.model.layout.search import search
from smemviz.model.layout.swizzles import Cute, Xor

_TURN = """
import numpy as np
from numba import cuda, float32, float64, int32


@cuda.jit
def turn(out):
    {declaration}
    for step in range({rows} * {columns} // 32):
        i = step * 32 + cuda.threadIdx.x
        row = i // {columns}
        column = i % {columns}
        value = i
        {store}
    cuda.syncthreads()
    for step in range({rows} * {columns} // 32):
        k = step * 32 + cuda.threadIdx.x
        row = k % {rows}
        column = k // {rows}
        i = row * {columns} + column
        {load}
        out[k] = value


def main():
    out = np.zeros({rows} * {columns})
    turn[1, 32](out)
    assert np.array_equal(out, np.arange({rows} * {columns}).reshape({rows}, {columns}).T.ravel())
"""


def chosen(found):
    """Return the best three, the worst, and the best of each kind."""
    kinds = [next((one for one in found if isinstance(one.layout.swizzle, kind)), None) for kind in (Xor, Cute)]
    pad = next(one for one in found if one.layout.pad)
    return [one for one in dict.fromkeys([*found[:3], found[-1], pad, *kinds]) if one is not None]


@pytest.mark.parametrize(
    ("layout", "rows", "columns"),
    one_in(
        3,
        [
            ("32x32 float32; base=1024", 32, 32),
            ("16x32 int32", 16, 32),
            ("64x16 float64", 64, 16),
            ("32x33 float64", 32, 33),
            ("24x20 int32", 24, 20),
            ("1024 int32", 32, 32),
            ("480 int32; pitch=20", 24, 20),
        ],
    ),
)
def test_a_suggestion_run_costs_exactly_what_it_promised(layout, rows, columns, tmp_path):
    array = layout_of(layout)
    by_columns = "column" if len(array.shape) > 1 else None
    step = "step * 32 + lane"
    load = by_columns or f"({step}) % {rows} * {columns} + ({step}) // {rows}; steps={rows * columns // 32}"
    wanted = [array_requests(access_of(text), array) for text in ("row; op=store", load)]
    file = tmp_path / "turn.py"
    for suggestion in chosen(search(array, wanted)):
        written = code(suggestion.layout)._asdict()
        file.write_text(_TURN.format(rows=rows, columns=columns, **written), encoding="utf-8")
        recording = smemviz.run(file, engine="lockstep")
        assert recording.findings == (), suggestion.layout.text  # a wrong output is one, an index out of bounds another
        (launch,) = recording.launches
        found = [row.wavefronts for row in launch.summary() if row.wavefronts is not None]
        assert found == [score.wavefronts for score in suggestion.after], suggestion.layout.text
        assert launch.shared_bytes == suggestion.layout.nbytes
