"""A log that is too large for its limit: exact totals over all blocks, detail of some."""

import gc
import pickle
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.interpreted_ptx import compiles
from helpers.lockstep_text import body, run_text, what

from smemviz.engines.lockstep import Limits, run
from smemviz.engines.lockstep.log import ROW_BYTES
from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.shares import LateRequests
from smemviz.engines.options import RunOptions
from smemviz.frontends.reading import read_program
from smemviz.model.counting.summary import totals_of
from smemviz.recordings.data import Requests

KERNEL = """
    tile = cuda.shared.array((32, 32), int32)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    for k in range(4):
        tile[t, k] = t
        if t < b + k:
            tile[k, t] += 1
    cuda.atomic.add(out, t % 8, 1)
"""


def launched(**options):
    launch, findings = body(KERNEL, out := np.zeros(32, np.int64), grid=20, **options)
    assert {finding.kind for finding in findings} == {"unwritten_read", "race"}  # only its requests matter here
    return launch, out


def test_totals_over_all_blocks_are_those_of_the_whole_log():
    for threads in [1 << 15, 64]:
        whole, first = launched()
        cut, second = launched(log_bytes=100 * ROW_BYTES, limits=Limits(threads_at_once=threads))

        assert whole.totals is None
        wanted = totals_of(whole.sites, whole.requests)
        for name in ("requests", "wavefronts", "ideal", "sectors", "degrees"):
            np.testing.assert_array_equal(getattr(cut.totals, name), getattr(wanted, name))
        assert cut.request_count == len(whole.requests)
        assert cut.summary() == whole.summary()
        np.testing.assert_array_equal(first, second)


def test_the_first_middle_and_last_block_are_kept_in_full():
    for threads in [1 << 15, 64]:
        whole, _ = launched()
        cut, _ = launched(log_bytes=100 * ROW_BYTES, limits=Limits(threads_at_once=threads))

        wanted = whole.requests.select(np.isin(whole.requests.block, [0, 10, 19]))
        for name in ("addresses", "site", "block", "warp", "step", "epoch", "values"):
            np.testing.assert_array_equal(getattr(cut.requests, name), getattr(wanted, name))
        assert cut.missing == len(whole.requests) - len(wanted)


def test_what_is_kept_stays_within_the_limit_too():
    whole, _ = launched()
    cut, _ = launched(log_bytes=20 * ROW_BYTES)

    assert 0 < len(cut.requests) <= 20
    assert cut.request_count == len(whole.requests)
    kept = {(b, w, s) for b, w, s in zip(cut.requests.block, cut.requests.warp, cut.requests.step, strict=True)}
    assert all(step == 0 or (block, warp, step - 1) in kept for block, warp, step in kept)


def test_nothing_is_kept_without_room():
    cut, _ = launched(log_bytes=0)

    assert len(cut.requests) == 0
    assert cut.missing == cut.request_count > 0


def test_progress_counts_blocks():
    seen = []
    launched(limits=Limits(threads_at_once=256), progress=lambda *now: seen.append(now))

    assert seen == [(8, 20, "kernel"), (16, 20, "kernel"), (20, 20, "kernel")]


def test_the_launches_of_a_file_share_the_limit():
    """Each block of the kernel makes 2 requests: the first launch leaves room for 2 of the second's 20 blocks."""
    source = """
        @cuda.jit
        def kernel(out):
            out[cuda.grid(1)] = 1
            out[cuda.grid(1)] += 1
        def main():
            out = cuda.device_array(640, np.int32)
            kernel[20, 32](out)
            kernel[20, 32](out)
    """
    (whole, _), _ = run_text(source)
    (first, second), _ = run_text(source, log_bytes=(len(whole.requests) + 7) * ROW_BYTES)

    assert (whole.missing, first.missing) == (0, 0)
    assert len(second.requests) <= 7
    assert second.missing == len(whole.requests) - len(second.requests)
    assert second.summary() == whole.summary()


def test_every_launch_of_a_file_is_returned_in_order():
    launches, findings = run_text(
        """
        @cuda.jit
        def one(out):
            out[cuda.threadIdx.x] = 1
        @cuda.jit
        def two(out):
            out[cuda.threadIdx.x + 1] = 1
        def main():
            out = cuda.device_array(32, np.int32)
            one[1, 32](out)
            two[1, (16, 2)](out)
            two[2, 32](out)
        """
    )

    assert [(x.kernel, x.grid, x.block) for x in launches] == [
        ("one", (1, 1, 1), (32, 1, 1)),
        ("two", (1, 1, 1), (16, 2, 1)),
        ("two", (2, 1, 1), (32, 1, 1)),
    ]
    assert [(f.kernel, what(f)) for f in findings if not f.harmless] == [("two", "out[32] is outside shape (32,)")]


LOOP = """
@cuda.jit
def kernel(out):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    for k in range(300):
        if k % 3:
            s[t] = k
        out[t] += s[t]
def main():
    kernel[1, {threads}](cuda.device_array(64, np.int32))
"""


def test_a_loop_is_counted_as_it_is_kept():
    for threads in [1, 7, 40]:
        (whole,), found = run_text(LOOP.format(threads=threads))
        (cut,), found_again = run_text(LOOP.format(threads=threads), log_bytes=50 * ROW_BYTES)

        assert whole.summary() == cut.summary()
        assert whole.request_count == len(whole.requests) == 1100 * -(-threads // 32)
        assert len(cut.requests) <= 50
        assert found == found_again


@pytest.mark.exhaustive
def test_memory_of_what_was_recorded_is_free_as_soon_as_nobody_holds_it(monkeypatch):
    """Cycles would keep it, up to the whole limit, until Python looks for them: it may be far more than one log."""
    machines, end = [], Machine.end
    monkeypatch.setattr(Machine, "end", lambda self: machines.append(weakref.ref(self)) or end(self))
    gc.collect()
    gc.disable()
    try:
        launches, _ = run_text(LOOP.format(threads=40))
        recorded = weakref.ref(launches[0].requests.addresses)
        assert recorded() is not None
        del launches
        assert recorded() is None
        assert [machine() for machine in machines] == [None]
    finally:
        gc.enable()


PRODUCT = Path(__file__).parents[2] / "benchmarks" / "product_64.py"
SIZE, TILE = 128, 16


@pytest.fixture(scope="module")
def program():
    return read_program(PRODUCT).with_constants({"N": SIZE, "TILE": TILE})


@pytest.fixture(scope="module", params=["never", "always"])
def cut(program, request):
    """The launch with a log for 2,000 of its 147,968 requests, interpreted and by machine code."""
    (launch,), findings = run(program, RunOptions(log_bytes=2000 * ROW_BYTES, machine_code=request.param))
    assert launch.machine_code == (request.param == "always" and compiles())
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


@pytest.mark.exhaustive
def test_small_and_large_batches_count_every_block(program):
    """Of 256 blocks 35 run in small batches first, 128 in the next, then what is left."""
    large = program.with_constants({"N": 256})
    (launch,), findings = run(large)

    assert findings == ()
    assert [row.requests for row in launch.summary()] == [32768, 32768, 32768, 32768, 524288, 524288, 2048]


def test_requests_of_few_lanes_are_requests_as_all_others_are():
    column = np.arange(3, dtype=np.int32)
    columns = (column, column.astype(np.int64), column, column, column)
    late = LateRequests.of(Requests(np.array([[0], [4], [8]]), *columns, np.zeros((0, 1))))
    for one in (late, late.at_sites(column + 1), pickle.loads(pickle.dumps(late)), late.select(slice(None))):
        assert one.addresses.tolist() == [[4 * i, *[-1] * 31] for i in range(3)]
        assert one.values.shape == (3, 32)
        assert np.isnan(one.values).all()
    moved = replace(late, addresses=late.addresses + 4)
    assert moved.addresses[:, 0].tolist() == [4, 8, 12]
    assert moved.at_sites(column + 1).site.tolist() == [1, 2, 3]
