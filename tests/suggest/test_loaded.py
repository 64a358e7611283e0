"""Which sites have an index that is loaded, told from the text of a kernel."""

from dataclasses import replace

from helpers.made_kernels import tile_program, transposing

from smemviz.engines import run
from smemviz.frontends.reading import loaded_sites
from smemviz.suggest.find import Refused, suggestions

DECLARED = "held = cuda.shared.array((32, 32), float32)\nheld[ty, tx] = 1\ncuda.syncthreads()"
UNTIL_DATA = "while k < 9:\n        if out[ty, k] == 0:\n            break\n        k += 1"
TAKE = """@cuda.jit(device=True)
def take(tile, row, column):
    return tile[row, column]


@cuda.jit(device=True)
def turned(n):
    return n * 5 % 32


@cuda.jit(device=True)
def found(numbers, n):
    if numbers[n, 0] > 0:
        return n
    return 0

"""


def test_an_index_is_loaded_where_something_loaded_gets_into_it():
    for body, loaded in [
        ("out[ty, tx] = held[tx * 5 % 32, ty]", False),
        ("x, y = cuda.grid(2)\nk = min(x, 31)\nk += 1\nout[ty, tx] = held[k % out.shape[0], int32(y)]", False),
        ("for k in range(4):\n        out[ty, tx] += held[k, tx]", False),
        ("k = out[ty, tx]\nk += tx\nout[ty, tx] = held[ty, int32(k) % 32]", True),
        ("k = 0\nif out[ty, tx] > 0:\n        k = tx\nout[ty, tx] = held[ty, k]", True),
        ("k = tx\nif ty > 2:\n        k = ty\nout[ty, tx] = held[ty, k]", False),
        ("k = 0\nwhile out[ty, k] > 0:\n        k += 1\nout[ty, tx] = held[ty, k]", True),
        (f"k = 0\n{UNTIL_DATA}\nout[ty, tx] = held[ty, k]", True),
        ("out[ty, tx] = held[int32(out[ty, tx])][tx]", True),
        ("k = cuda.shfl_sync(0xFFFFFFFF, tx, 3)\nout[ty, tx] = held[ty, k]", True),
        ("out[ty, tx] = held[int32(out[ty, tx]), tx]", True),
        ("out[ty, tx] = take(held, tx, ty)", False),
        ("out[ty, tx] = take(held, int32(out[ty, tx]), ty)", True),
        ("out[ty, tx] = take(held, ty, column=int32(out[ty, tx]))", True),
        ("out[ty, tx] = held[turned(tx), ty]", False),
        ("out[ty, tx] = held[turned(int32(out[ty, tx])), ty]", True),
        ("out[ty, tx] = held[found(out, tx), ty]", True),
    ]:
        recording = run(transposing(f"{DECLARED}\n{body}", before=TAKE), engine="lockstep")
        (launch,) = recording.launches
        (load,) = (i for i, site in enumerate(launch.sites) if site.op == "load" and site.array == "held")
        assert (load in loaded_sites(recording, launch)) is loaded


def test_of_a_text_that_is_not_python_nothing_is_called_data():
    recording = run(transposing(f"{DECLARED}\nout[ty, tx] = held[int32(out[ty, tx]), tx]"), engine="lockstep")
    other = replace(recording, source="__global__ void turn(float *out) {}\n")
    assert loaded_sites(other, other.launches[0]) == frozenset()


def test_an_index_that_no_pattern_fits_is_laid_out_where_it_is_computed():
    # 32 lanes go down columns of 12, so where they turn to the next column differs from request to request.
    program = tile_program("(12, 20)", "float32", "n // 20, n % 20", "n % 12, n // 12", 240)
    found = list(suggestions(run(program, engine="lockstep"), program))
    assert found
    assert not any(isinstance(one, Refused) for one in found)
