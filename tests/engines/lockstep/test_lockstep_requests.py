"""The requests lockstep logs: addresses, masks, order, epochs and values, worked out by hand."""

import numpy as np
import pytest
from helpers.lockstep_text import START, body, launch_text, result, rows

from smemviz.engines.lockstep import Limits

T = np.arange(32)
GLOBAL = 0x7000_0000_0000  # where the first global array lies
SHARED = 1024  # where a block's shared memory begins on compute capability 9.0


def test_addresses_of_a_shared_store_and_a_global_store():
    launch, _ = body(
        """
        tile = cuda.shared.array((2, 33), float64)
        t = cuda.threadIdx.x
        tile[1, t] = t / 2
        out[31 - t] = tile[1, t]
        """,
        np.zeros(32, np.float32),
    )

    assert [(s.source, s.op, s.space, s.width) for s in launch.sites] == [
        ("tile[1, t]", "store", "shared", 8),
        ("tile[1, t]", "load", "shared", 8),
        ("out[31 - t]", "store", "global", 4),
    ]
    np.testing.assert_array_equal(rows(launch, 0), [SHARED + 8 * (33 + T)])
    np.testing.assert_array_equal(rows(launch, 1), [SHARED + 8 * (33 + T)])
    np.testing.assert_array_equal(rows(launch, 2), [GLOBAL + 4 * (31 - T)])
    np.testing.assert_array_equal(launch.requests.values[0], T / 2)
    assert np.isnan(launch.requests.values[1:]).all()


def test_rows_are_ordered_by_block_warp_and_step():
    launch, _ = body(
        """
        i = cuda.grid(1)
        out[i] = i
        if cuda.threadIdx.x < 32:
            out[i] = out[i] + 1
        """,
        np.zeros(192, np.int64),
        grid=2,
        block=96,
    )
    r = launch.requests

    assert r.block.tolist() == [0] * 5 + [1] * 5
    assert r.warp.tolist() == [0, 0, 0, 1, 2] * 2
    assert r.step.tolist() == [0, 1, 2, 0, 0] * 2
    assert r.site.tolist() == [0, 1, 2, 0, 0] * 2


def test_batches_of_blocks_make_the_same_rows_as_one():
    text = """
        tile = cuda.shared.array(64, int32)
        i = cuda.grid(1)
        tile[cuda.threadIdx.x] = i
        cuda.syncthreads()
        for k in range(cuda.blockIdx.x + 1):
            out[i] += tile[(i + k) % 64]
    """
    once, _ = body(text, first := np.zeros(640, np.int64), grid=10, block=64)
    limits = Limits(threads_at_once=192)
    batched, _ = body(text, second := np.zeros(640, np.int64), grid=10, block=64, limits=limits)

    np.testing.assert_array_equal(first, second)
    for name in ("addresses", "site", "block", "warp", "step", "epoch", "values"):
        np.testing.assert_array_equal(getattr(once.requests, name), getattr(batched.requests, name))


@pytest.mark.parametrize(
    ("code", "threads", "requests"),
    [
        pytest.param("out[t] = 1", 40, [(0, T), (1, range(8))], id="lanes beyond the block are off"),
        pytest.param("if t == 70:\n    out[t] = 1", 128, [(2, [6])], id="a warp without an active lane makes none"),
        pytest.param(
            "if t % 2 == 0:\n    out[t] = 1\nelse:\n    out[t] = 2",
            32,
            [(0, T[::2]), (0, T[1::2])],
            id="both sides of a branch make their own",
        ),
        pytest.param(
            "for k in range(t % 4):\n    out[t] = k",
            32,
            [(0, T[k < T % 4]) for k in range(3)],
            id="a loop makes one while one lane is in it",
        ),
        pytest.param(
            "if t < 8 and out[t] == 0:\n    out[t + 32] = 1 if t < 4 or out[t + 1] > 0 else 2",
            32,
            [(0, range(8)), (0, range(4, 8)), (0, range(8))],
            id="only lanes that need the right operand load it",
        ),
    ],
)
def test_a_request_has_the_lanes_that_are_there(code, threads, requests):
    launch, _ = body(f"t = cuda.threadIdx.x\n{code}", np.zeros(128, np.int64), block=threads)

    lanes = [np.flatnonzero(row >= 0).tolist() for row in launch.requests.addresses]
    assert list(zip(launch.requests.warp.tolist(), lanes, strict=True)) == [(w, list(on)) for w, on in requests]


def test_epochs_count_barriers():
    launch, _ = body(
        """
        tile = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        tile[t] = t
        for k in range(2):
            cuda.syncthreads()
            tile[t] = k
        """,
        np.zeros(32, np.int64),
    )

    assert launch.requests.epoch.tolist() == [0, 1, 2]


def test_an_augmented_target_is_loaded_before_its_value_and_another_reached_after_it():
    for code, sources in [
        ("tile[t] += out[t]", [("load", "tile[t]"), ("load", "out[t]"), ("store", "tile[t]")]),
        ("out[out[t]] = out[t + 1]", [("load", "out[t + 1]"), ("load", "out[t]"), ("store", "out[out[t]]")]),
    ]:
        text = f"tile = cuda.shared.array(32, int32)\nt = cuda.threadIdx.x\n{code}"
        launch, _ = body(text, np.zeros(64, np.int64))

        assert [(launch.sites[i].op, launch.sites[i].source) for i in launch.requests.site] == sources


def test_two_indices_reach_the_same_element_as_one_pair():
    launch, _ = body(
        """
        tile = cuda.shared.array((4, 8), int32)
        t = cuda.threadIdx.x
        tile[t // 8][t % 8] = t
        out[t] = tile[t // 8, t % 8]
        """,
        out := np.zeros(32, np.int64),
    )

    assert out.tolist() == T.tolist()
    np.testing.assert_array_equal(rows(launch, 0), rows(launch, 1))


def test_static_arrays_follow_each_other_aligned_to_their_elements():
    launch, _ = body(
        """
        one = cuda.shared.array(3, int8)
        two = cuda.shared.array((2, 2), float64)
        dynamic = cuda.shared.array(0, int32)
        again = cuda.shared.array(shape=0, dtype=int8)
        one[0] = 1
        two[0, 0] = 1
        dynamic[0] = 258
        out[0] = again[1]
        """,
        out := np.zeros(1, np.int64),
        dynamic=64,
    )

    arrays = launch.shared_arrays
    assert [(a.name, a.address, a.shape, a.dynamic) for a in arrays] == [
        ("one", 1024, (3,), False),
        ("two", 1032, (2, 2), False),
        ("dynamic", 1072, (16,), True),  # 1064 aligned to 16
        ("again", 1072, (64,), True),
    ]
    assert (launch.shared_bytes, launch.dynamic_shared) == (1072 + 64 - 1024, 64)
    assert out[0] == 1  # the second byte of 258


def test_a_device_function_declares_one_array_for_all_its_calls():
    launch, _ = launch_text(
        """
        @cuda.jit(device=True)
        def first(x):
            held = cuda.shared.array(32, int32)
            held[cuda.threadIdx.x] = x
            return held[0]
        @cuda.jit
        def kernel(out):
            out[0] = first(3)
            out[1] = first(4)
        """,
        out := np.zeros(2, np.int64),
    )

    assert out.tolist() == [3, 4]
    assert [(a.name, a.address) for a in launch.shared_arrays] == [("held", 1024)]
    assert launch.shared_bytes == 128
    assert [(s.source, s.calls) for s in launch.sites if s.space == "shared"] == [
        ("held[cuda.threadIdx.x]", ((START + 7, 13),)),
        ("held[0]", ((START + 7, 13),)),
        ("held[cuda.threadIdx.x]", ((START + 8, 13),)),
        ("held[0]", ((START + 8, 13),)),
    ]


def test_an_atomic_is_one_request():
    for operation, op in [
        ("cuda.atomic.add(tile, t % 4, 2)", "reduce_add"),
        ("cuda.atomic.add(tile, t % 4, 1)", "reduce_inc"),
        ("old = cuda.atomic.max(tile, t % 4, t)", "atomic_max"),
        ("cuda.atomic.cas(tile, t % 4, 0, t)", "atomic_cas"),
    ]:
        launch, _ = body(
            f"""
        tile = cuda.shared.array(4, int32)
        t = cuda.threadIdx.x
        {operation}
        """,
            np.zeros(1, np.int64),
        )

        assert [s.op for s in launch.sites] == [op]
        np.testing.assert_array_equal(launch.requests.addresses, [SHARED + 4 * (T % 4)])


def test_views_of_one_allocation_share_its_address():
    launch, _ = body(
        """
        t = cuda.threadIdx.x
        out[0][t] = 1
        out[1][t] = 2
        """,
        (data := np.zeros(64, np.int32), data),
    )

    assert [a.address for a in launch.arrays] == [GLOBAL, GLOBAL]
    np.testing.assert_array_equal(launch.requests.addresses, [GLOBAL + 4 * T] * 2)
    assert data[:32].tolist() == [2] * 32


def test_memory_order_of_a_global_array_shows_in_its_addresses_and_a_uniform_one_is_the_same_in_all_lanes():
    launch, _ = body("out[cuda.threadIdx.x, 1] = 1", np.zeros((32, 4), np.float32, order="F"))
    np.testing.assert_array_equal(rows(launch, 0), [GLOBAL + 4 * (32 + T)])
    assert launch.arrays[0].strides == (4, 128)
    launch, _ = body("out[3] = 7", np.zeros(8, np.int64))
    np.testing.assert_array_equal(launch.requests.addresses, [[GLOBAL + 24] * 32])


def test_local_and_constant_arrays_make_no_requests():
    launch, _ = body(
        """
        held = cuda.local.array(4, int32)
        t = cuda.threadIdx.x
        held[t % 4] = TABLE[t]
        out[t] = held[t % 4]
        """,
        out := np.zeros(32, np.int64),
        before="TABLE = np.arange(32)\n",
    )

    assert [s.array for s in launch.sites] == ["out"]
    assert out.tolist() == T.tolist()


def test_every_block_has_its_own_shared_memory():
    launch, _ = body(
        """
        held = cuda.shared.array(32, int64)
        held[cuda.threadIdx.x] = cuda.blockIdx.x
        cuda.syncthreads()
        out[cuda.grid(1)] = held[31]
        """,
        out := np.zeros(128, np.int64),
        grid=4,
    )

    assert out.tolist() == np.repeat(range(4), 32).tolist()
    assert np.unique(rows(launch, 0)).tolist() == [SHARED + 8 * t for t in range(32)]


def test_dtypes_of_shared_arrays():
    for dtype, value in (
        ("float16", 1.5),
        ("complex64", 1.5 + 2j),
        ("complex128", 2j),
        ("boolean", True),
        ("uint8", 9),
    ):
        kind = {"boolean": "bool"}.get(dtype, dtype)
        found = result(
            f"""
            held = cuda.shared.array(32, {dtype})
            held[cuda.threadIdx.x] = {value}
            cuda.syncthreads()
            out[cuda.threadIdx.x] = held[31 - cuda.threadIdx.x]
            """,
            dtype=kind,
        )
        assert (found == np.dtype(kind).type(value)).all()


def test_a_walrus_assigns_where_it_is_evaluated_and_an_operand_that_decides_is_the_value_of_the_lane():
    found = result(
        """
        t = cuda.threadIdx.x
        n = 0
        twice = t * 2
        if t > 3 and (n := twice) > 20:
            out[t] = n
        else:
            out[t] = -n
        """
    )
    assert found.tolist() == [2 * t if t > 10 else -2 * t if t > 3 else 0 for t in range(32)]
    text = "t = cuda.threadIdx.x\nif t < 8 and out[t] == 0:\n    out[t + 32] = 1 if t < 4 or out[t + 1] > 0 else 2"
    assert result(text, n=64)[32:].tolist() == [1] * 4 + [2] * 4 + [0] * 24


def test_keyword_arguments_reach_a_device_function():
    launch_text(
        """
        @cuda.jit(device=True)
        def pick(a, i=3, shift=0):
            return a[i] << shift
        @cuda.jit
        def kernel(out):
            out[0] = pick(out)
            out[1] = pick(out, shift=2, i=4)
        """,
        out := np.arange(8),
    )

    assert out.tolist() == [3, 16, 2, 3, 4, 5, 6, 7]
