"""A product too large to log: totals equal to what the algorithm asks for, and to a log of everything."""

from pathlib import Path

import numpy as np
import pytest

from smemviz.engines.lockstep import run
from smemviz.engines.lockstep.log import ROW_BYTES
from smemviz.engines.options import RunOptions
from smemviz.frontends.reading import read_program
from smemviz.model.counting.summary import totals_of

PRODUCT = Path(__file__).parents[2] / "benchmarks" / "product_64.py"
SIZE, TILE = 128, 16


@pytest.fixture(scope="module")
def program():
    return read_program(PRODUCT).with_constants({"N": SIZE, "TILE": TILE})


@pytest.fixture(scope="module")
def cut(program):
    """The launch with a log for 2,000 of its 147,968 requests."""
    (launch,), findings = run(program, RunOptions(log_bytes=2000 * ROW_BYTES))
    assert findings == ()
    return launch


def test_totals_are_those_of_the_algorithm(cut):
    """Each element is loaded once per tile, a warp being two rows of 16; no two lanes differ in one bank."""
    tile_loads = SIZE**3 // TILE // 32
    steps = SIZE**3 // 32
    from_global = (tile_loads, None, None, 4 * tile_loads)
    to_shared = (tile_loads, tile_loads, 0, None)
    from_shared = (steps, steps, 0, None)
    result = (SIZE**2 // 32, None, None, SIZE**2 // 8)

    found = [(row.requests, row.wavefronts, row.excess, row.sectors) for row in cut.summary()]
    assert found == [from_global, to_shared, from_global, to_shared, from_shared, from_shared, result]
    assert cut.request_count == 147_968


def test_tiles_divide_what_is_loaded_by_their_side(cut):
    """2 S^3 / T elements, four sectors of 8 per request of 32: as the formula has it."""
    loaded = [
        row.sectors
        for site, row in zip(cut.sites, cut.summary(), strict=True)
        if (site.space, site.op) == ("global", "load")
    ]
    assert sum(loaded) * 32 // 4 == 2 * SIZE**3 // TILE


def test_totals_are_those_of_a_log_of_everything(program, cut):
    (whole,), _ = run(program)

    assert whole.totals is None
    wanted = totals_of(whole.sites, whole.requests)
    for name in ("requests", "wavefronts", "ideal", "sectors", "degrees"):
        np.testing.assert_array_equal(getattr(cut.totals, name), getattr(wanted, name))
    assert whole.missing == 0
    assert 0 < len(cut.requests) <= 2000
    assert set(cut.requests.block.tolist()) <= {0, 32, 63}


def test_small_and_large_batches_count_every_block(program):
    """Of 256 blocks 35 run in small batches first, 128 in the next, then what is left."""
    large = program.with_constants({"N": 256})
    (launch,), findings = run(large)

    assert findings == ()
    assert [row.requests for row in launch.summary()] == [32768, 32768, 32768, 32768, 524288, 524288, 2048]
