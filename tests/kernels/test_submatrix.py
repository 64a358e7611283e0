"""The product by sub-matrices of flat arrays: right, and what it loads."""

import pytest

import smemviz
from smemviz.errors import KernelFileError
from smemviz.model.counting.matmul import traffic
from smemviz.paths import kernels_dir

FILE = kernels_dir() / "submatrix.py"
SIDE = 64


# Per warp and k the first kernel loads a sector of a for each of its 32/T rows and T/8 of b, the second 4 of each in T.
@pytest.mark.parametrize(("tile", "sectors"), [(8, (40960, 8192)), (16, (32768, 4096)), (32, (40960, 2048))])
def test_sub_matrices_divide_what_is_loaded_by_their_side(tile, sectors):
    run = smemviz.run(FILE, constants={"TILE": tile}, engine="lockstep")

    alone, shared, strips = (traffic(launch) for launch in run.launches)
    assert run.findings == ()
    assert strips == shared  # all tiles at once are loaded as often
    assert run["by_whole_strips"].shared_bytes == 4 * (tile * (SIDE + tile) + SIDE * tile)
    assert (alone.elements_loaded, shared.elements_loaded) == (2 * SIDE**3, 2 * SIDE**3 // tile)
    assert (alone.load_sectors, shared.load_sectors) == sectors
    assert (shared.excess, shared.shared_loads) == (0, 2 * SIDE**3 // 32)


@pytest.mark.parametrize(
    "constants", [{"M": 48, "K": 32, "N": 80}, {"A_STRIDE": 72, "B_STRIDE": 65, "C_STRIDE": 100}], ids=str
)
def test_other_shapes_and_row_strides_give_numpys_product(constants):
    assert smemviz.run(FILE, constants=constants, engine="lockstep").findings == ()


def test_sizes_that_are_no_multiple_of_the_tile_are_refused_in_words():
    with pytest.raises(KernelFileError, match="M, K and N have to be multiples of TILE"):
        smemviz.run(FILE, constants={"K": 30}, engine="lockstep")
