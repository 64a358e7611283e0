"""Which indices data can change, told from the text of a kernel."""

from __future__ import annotations

import pytest
from made_kernels import tile_program, transposing

from smemviz.engines import run
from smemviz.rewrite import Refused, suggestions
from smemviz.rewrite.computed import index_is_computed

DECLARED = "held = cuda.shared.array((32, 32), float32)\nheld[ty, tx] = 1\ncuda.syncthreads()"
UNTIL_DATA = "while k < 9:\n        if out[ty, k] == 0:\n            break\n        k += 1"
TAKE = "@cuda.jit(device=True)\ndef take(tile, row, column):\n    return tile[row, column]\n\n"


@pytest.mark.parametrize(
    ("body", "computed"),
    [
        ("out[ty, tx] = held[tx * 5 % 32, ty]", True),
        ("x, y = cuda.grid(2)\nk = min(x, 31)\nk += 1\nout[ty, tx] = held[k % out.shape[0], int32(y)]", True),
        ("for k in range(4):\n        out[ty, tx] += held[k, tx]", True),
        ("k = out[ty, tx]\nk += tx\nout[ty, tx] = held[ty, int32(k) % 32]", False),
        ("k = 0\nif out[ty, tx] > 0:\n        k = tx\nout[ty, tx] = held[ty, k]", False),
        ("k = tx\nif ty > 2:\n        k = ty\nout[ty, tx] = held[ty, k]", True),
        ("k = 0\nwhile out[ty, k] > 0:\n        k += 1\nout[ty, tx] = held[ty, k]", False),
        (f"k = 0\n{UNTIL_DATA}\nout[ty, tx] = held[ty, k]", False),
        ("out[ty, tx] = held[int32(out[ty, tx])][tx]", False),
        ("k = cuda.shfl_sync(0xFFFFFFFF, tx, 3)\nout[ty, tx] = held[ty, k]", False),
        ("out[ty, tx] = held[int32(out[ty, tx]), tx]", False),
        ("out[ty, tx] = take(held, tx, ty)", False),
    ],
)  # fmt: skip
def test_an_index_is_computed_where_nothing_loaded_gets_into_it(body: str, computed: bool) -> None:
    program = transposing(f"{DECLARED}\n{body}", before=TAKE)
    (launch,) = run(program, engine="lockstep").launches
    load = next(site for site in launch.sites if site.op == "load" and site.space == "shared")
    assert index_is_computed(program, launch.kernel, load) is computed


def test_an_index_that_no_pattern_fits_is_laid_out_where_it_is_computed() -> None:
    # 32 lanes go down columns of 12, so where they turn to the next column differs from request to request.
    program = tile_program("(12, 20)", "float32", "n // 20, n % 20", "n % 12, n // 12", 240)
    found = list(suggestions(run(program, engine="lockstep"), program))
    assert found
    assert not any(isinstance(one, Refused) for one in found)
