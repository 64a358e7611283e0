"""What the instrumented kernels report on a real GPU: the same as lockstep, without changing a result."""

from importlib.util import find_spec

import numpy as np
import pytest

from smemviz.model.layout.array_requests import relative_addresses

pytestmark = pytest.mark.gpu


def cases():
    if find_spec("numba_cuda") is None:  # the tests are skipped
        return []
    from helpers.kernels_for_tests import cases as found

    return [pytest.param(*case, id=case[0].py_func.__name__) for case in found()]


CASES = cases()


def copies(arguments):
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)


@pytest.mark.parametrize(("kernel", "grid", "block", "arguments", "dynamic"), CASES)
def test_lockstep_makes_the_same_requests(kernel, grid, block, arguments, dynamic):
    import smemviz

    (seen,) = smemviz.record(kernel, grid, block, copies(arguments), dynamic, engine="gpu").launches
    (predicted,) = smemviz.record(kernel, grid, block, copies(arguments), dynamic, engine="lockstep").launches

    assert seen.sites == predicted.sites
    assert seen.summary() == predicted.summary()
    by_site = [
        np.lexsort((x.requests.step, x.requests.site, x.requests.warp, x.requests.block)) for x in (seen, predicted)
    ]
    for one, other in zip(relative_addresses(seen), relative_addresses(predicted), strict=True):
        np.testing.assert_array_equal(one[by_site[0]], other[by_site[1]])


@pytest.mark.parametrize(("kernel", "grid", "block", "arguments", "dynamic"), CASES)
def test_totals_counted_on_the_device_equal_those_of_the_log(kernel, grid, block, arguments, dynamic):
    import smemviz

    (logged,) = smemviz.record(kernel, grid, block, copies(arguments), dynamic, engine="gpu").launches
    (counted,) = smemviz.record(kernel, grid, block, copies(arguments), dynamic, engine="gpu", log_bytes=0).launches

    assert len(counted.requests) == 0
    assert counted.missing == len(logged.requests)
    assert counted.summary() == logged.summary()


@pytest.mark.parametrize(("kernel", "grid", "block", "arguments", "dynamic"), CASES)
def test_the_instrumented_kernel_gives_the_results_of_the_clean_one(kernel, grid, block, arguments, dynamic):
    from numba import cuda

    from smemviz.engines.gpu import numba_launch as launch
    from smemviz.engines.launch_shape import configuration
    from smemviz.frontends.numba.python_functions import function_of

    clean, given = ([cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2))
    kernel[grid, block, 0, dynamic](*clean)
    function = function_of(kernel.py_func)
    config = configuration(("", 1), (grid, block, 0, dynamic))
    outputs = []

    class Arguments(launch.Arguments):
        def restore(self):
            outputs.append([a.copy_to_host() for a in given if hasattr(a, "copy_to_host")])
            super().restore()

    counting = launch.MarkedKernel(function, given)
    original = launch.Arguments
    launch.Arguments = Arguments
    try:
        launch.count(counting, config, given, 1 << 24)
    finally:
        launch.Arguments = original

    expected = [a.copy_to_host() for a in clean if hasattr(a, "copy_to_host")]
    assert len(outputs) == 2  # after each pass
    for output in outputs:
        for one, other in zip(output, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    for argument, value in zip(given, arguments, strict=True):
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(argument.copy_to_host(), value)  # put back as it was


def test_a_log_that_does_not_fit_keeps_whole_warps_of_the_first_middle_and_last_block():
    from helpers.kernels_for_tests import writes_its_input

    import smemviz
    from smemviz.engines.gpu.ptx.access_calls import ROW_BYTES

    data = np.arange(32 * 100, dtype=np.int32)
    recording = smemviz.record(writes_its_input, 100, 32, (data,), engine="gpu", log_bytes=6 * ROW_BYTES)

    (launch,) = recording.launches
    assert launch.requests.block.tolist() == [0, 0, 50, 50, 99, 99]
    assert launch.request_count == 200
    assert launch.missing == 194
    assert [row.sectors for row in launch.summary()] == [400, 400]


def test_warps_without_room_for_all_of_their_requests_are_not_logged():
    from helpers.kernels_for_tests import writes_its_input

    import smemviz
    from smemviz.engines.gpu.ptx.access_calls import ROW_BYTES

    data = np.arange(32 * 100, dtype=np.int32)
    recording = smemviz.record(writes_its_input, 100, 32, (data,), engine="gpu", log_bytes=5 * ROW_BYTES)

    (launch,) = recording.launches
    assert launch.requests.block.tolist() == [0, 0, 50, 50]
    assert launch.requests.step.tolist() == [0, 1, 0, 1]
    assert launch.request_count == 200


def test_blocks_asked_for_are_logged_in_full_and_the_others_counted():
    from helpers.kernels_for_tests import writes_its_input

    import smemviz
    from smemviz.errors import LaunchError

    data = np.arange(32 * 100, dtype=np.int32)
    (launch,) = smemviz.record(writes_its_input, 100, 32, (data,), engine="gpu", blocks="3,97-98,first").launches

    assert launch.requests.block.tolist() == [0, 0, 3, 3, 97, 97, 98, 98]
    assert [row.sectors for row in launch.summary()] == [400, 400]
    with pytest.raises(LaunchError, match="there is no block 100 in this launch of writes_its_input, which has blocks"):
        smemviz.record(writes_its_input, 100, 32, (data,), engine="gpu", blocks=100)


def test_totals_of_a_large_product_are_those_of_the_formula():
    import smemviz
    from smemviz.paths import kernels_dir

    size, tile = 512, 16
    recording = smemviz.run(
        kernels_dir() / "matmul.py",
        constants={"M": size, "K": size, "N": size, "TILE": tile},
        engine="gpu",
        kernels="tiled",
        blocks="middle",
    )

    (launch,) = recording.launches
    steps = size**3 // 32  # a thread does one of the size cubed steps at a time, a warp 32 of them
    loads = steps // tile
    stores = size**2 // 32
    two_rows = 4  # a warp stands in two rows of 16 elements, 64 bytes each: two sectors each
    wanted = {
        "a[row, first + tx]": (loads, None, None, loads * two_rows),
        "a_tile[ty, tx]": (loads, loads, 0, None),
        "b[first + ty, column]": (loads, None, None, loads * two_rows),
        "b_tile[ty, tx]": (loads, loads, 0, None),
        "a_tile[ty, k]": (steps, steps, 0, None),
        "b_tile[k, tx]": (steps, steps, 0, None),
        "c[row, column]": (stores, None, None, stores * two_rows),
    }
    rows = zip(launch.sites, launch.summary(), strict=True)
    assert {s.source: (row.requests, row.wavefronts, row.excess, row.sectors) for s, row in rows} == wanted
    assert set(launch.requests.block.tolist()) == {(size // tile) ** 2 // 2}
    assert recording.unrecorded > 0


@pytest.mark.parametrize("name", ["square", "rectangle", "reverse"])
def test_the_gallery_gives_what_is_checked_in(name):
    import smemviz
    from smemviz.paths import kernels_dir

    new = smemviz.run(kernels_dir() / f"{name}.py", engine="gpu")
    old = smemviz.load(kernels_dir() / "recordings" / "h200" / f"{name}.smem.npz")

    for one, other in zip(new.launches, old.launches, strict=True):
        assert one.sites == other.sites
        np.testing.assert_array_equal(relative_addresses(one)[1], relative_addresses(other)[1])
        np.testing.assert_array_equal(one.requests.values, other.requests.values)
        np.testing.assert_array_equal(one.requests.epoch, other.requests.epoch)
