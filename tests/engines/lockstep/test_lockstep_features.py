"""Records, random numbers, parts of arrays, grid groups, print, raise: what they compute and request."""

import warnings

import numpy as np
import pytest
from helpers.lockstep_text import START, body, launch_text, result, rows

from smemviz.errors import LaunchError, UnsupportedError
from smemviz.frontends.numba import xoroshiro

RECORD = np.dtype([("x", np.float32), ("y", np.float64), ("z", np.int32, (3,))], align=True)  # 32 bytes
LANES = np.arange(32)


# -- records


def test_a_field_of_one_record_is_a_site_of_its_own_width_and_address():
    items = np.zeros(32, RECORD)
    items["x"] = LANES
    launch, findings = body("items[cuda.laneid].y = items[cuda.laneid]['x'] * 2", items, parameters="items")

    assert findings == ()
    assert [(s.source, s.op, s.width) for s in launch.sites] == [
        ("items[cuda.laneid]['x']", "load", 4), ("items[cuda.laneid].y", "store", 8)
    ]  # fmt: skip
    base = launch.arrays[0].address
    assert rows(launch, 0)[0].tolist() == (base + 32 * LANES).tolist()
    assert rows(launch, 1)[0].tolist() == (base + 32 * LANES + 8).tolist()
    assert items["y"].tolist() == (2.0 * LANES).tolist()


def test_a_record_in_shared_memory_keeps_its_fields_apart():
    text = """
    held = cuda.shared.array(32, RECORD)
    held[cuda.laneid].x = cuda.laneid
    held[cuda.laneid].z[1] = 7
    cuda.syncthreads()
    out[cuda.laneid] = held[31 - cuda.laneid].x + held.z[0, 1]
    """
    before = "RECORD = np.dtype([('x', np.float32), ('y', np.float64), ('z', np.int32, (3,))], align=True)\n"
    assert result(text, before=before).tolist() == (31 - LANES + 7).tolist()


def test_a_record_out_of_bounds_is_a_finding_and_nothing_is_stored():
    items = np.zeros(4, RECORD)
    _, (found,) = body("items[cuda.laneid + 1].x = 5", items, parameters="items")

    assert found.kind == "out_of_bounds"
    assert found.message.startswith("items[4] is outside shape (4,)")
    assert items["x"].tolist() == [0, 5, 5, 5]


def test_records_differ_between_threads_are_arguments_and_may_have_a_field_named_as_what_an_array_has():
    items = np.zeros(32, RECORD)
    text = "r = items[0]\nif cuda.laneid > 3:\n    r = items[cuda.laneid]\nr.x += 1\nr.z[2] = 4"
    body(text, items, parameters="items")
    assert items["x"].tolist() == [1, 0, 0, 0] + [1] * 28
    assert items["z"][:, 2].tolist() == [4, 0, 0, 0] + [4] * 28
    body("if cuda.laneid == 5:\n    r.y = 2.5", record := np.zeros(1, RECORD)[0], parameters="r")
    assert record["y"] == 2.5
    items = np.zeros(40, np.dtype([("size", np.float32), ("y", np.float32)], align=True))
    body("n = items.size + items.shape[0] + items.ndim\nitems[cuda.laneid].size = n", items, parameters="items")
    assert items["size"].tolist() == [81.0] * 32 + [0.0] * 8


def test_a_field_that_is_not_aligned_is_refused():
    packed = np.zeros(4, np.dtype([("a", np.int8), ("b", np.float32)]))
    with pytest.raises(UnsupportedError) as error:
        body("packed[0].b = 1", packed, parameters="packed")
    assert error.value.what == (
        "field b is not at a multiple of its size in its records; "
        "use np.dtype(..., align=True) and put the largest fields first"
    )


# -- random numbers


def numba_random():
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from numba.cuda import random
    return random


@pytest.mark.parametrize(("count", "seed", "start"), [(1, 1, 0), (7, 2**63 + 5, 0), (100, 42, 3), (0, 1, 0)])
def test_generators_are_those_of_numba_cuda(count, seed, start):
    theirs = np.zeros(count, xoroshiro.DTYPE)
    numba_random().init_xoroshiro128p_states_cpu(theirs, np.uint64(seed), np.uint64(start))
    assert xoroshiro.states(count, seed, start).tolist() == theirs.tolist()


@pytest.mark.parametrize("name", [name for name in xoroshiro.DEVICE if name.endswith(("next", "32", "64"))])
def test_numbers_are_those_of_numba_cuda(name):
    random = numba_random()
    states, theirs = xoroshiro.states(32, 9), xoroshiro.states(32, 9)
    out = np.zeros((3, 32), np.uint64 if name.endswith("next") else np.float64)
    text = f"for k in range(3):\n    out[k, cuda.laneid] = cuda.random.{name}(states, cuda.laneid)"
    launch, findings = body(text, states, out, parameters="states, out")

    assert findings == ()
    draw = getattr(random, name)
    for k in range(3):
        np.testing.assert_allclose(out[k], [draw(theirs, lane) for lane in range(32)], rtol=1e-6 * ("normal" in name))
    assert states.tolist() == theirs.tolist()
    assert {site.file.rpartition("/")[2] for site in launch.sites if site.op == "load"} == {"xoroshiro.py"}


def test_a_kernel_sets_its_generators_itself_and_lets_them_jump():
    states, theirs = np.zeros(4, xoroshiro.DTYPE), np.zeros(4, xoroshiro.DTYPE)
    text = "i = cuda.laneid\ncuda.random.init_xoroshiro128p_state(states, i, 7 * i)"
    body(text + "\nif i > 1:\n    cuda.random.xoroshiro128p_jump(states, i)", states, parameters="states", block=4)
    for lane in range(4):
        numba_random().init_xoroshiro128p_state(theirs, lane, 7 * lane)
        if lane > 1:
            numba_random().xoroshiro128p_jump(theirs, lane)
    assert states.tolist() == theirs.tolist()


# -- loops over arrays, parts of arrays


def test_a_loop_over_an_array_loads_at_the_array():
    data = np.arange(5.0)
    out = np.zeros(32)
    launch, _ = body("for x in data:\n    out[cuda.laneid] += x * cuda.laneid", data, out, parameters="data, out")
    assert (launch.sites[0].source, launch.sites[0].op) == ("data", "load")
    assert len(rows(launch, 0)) == 5
    assert out.tolist() == (10.0 * LANES).tolist()


def test_enumerate_and_zip_stop_with_the_shortest_and_take_a_start():
    text = """
    total = 0
    for k, (a, b) in enumerate(zip(out, (1, 2, 3)), 10):
        total += k * b
        if k == 11 and cuda.laneid < 2:
            break
    cuda.syncwarp()
    out[cuda.laneid] = total
    """
    assert result(text).tolist() == [10 + 22] * 2 + [10 + 22 + 36] * 30


def test_a_part_of_an_array_is_assigned_element_by_element():
    out = np.zeros(8)
    text = "if cuda.laneid == 0:\n    out.fill(4)\n    out[2:5] = 0.0, 1.0, 2.0\n    out[5:] = 9"
    launch, _ = body(text, out)
    assert out.tolist() == [4, 4, 0, 1, 2, 9, 9, 9]
    assert [(s.source, s.op, len(rows(launch, i))) for i, s in enumerate(launch.sites)] == [
        ("out.fill(4)", "store", 8), ("out[2:5]", "store", 3), ("out[5:]", "store", 3)
    ]  # fmt: skip


def test_a_part_that_an_array_is_assigned_to_is_refused():
    for array in ["out[:31]", "cuda.local.array(31, float64)"]:
        with pytest.raises(UnsupportedError, match=r"assignment of an array to out\[1:\]: Numba does not compile it"):
            result(f"out[1:] = {array}")


# -- blocks that wait for each other


def test_a_grid_barrier_lets_all_blocks_arrive():
    text = """
    i = cuda.grid(1)
    g = cuda.cg.this_grid()
    out[i] = i
    g.sync()
    out2[i] = out[63 - i]
    """
    out, out2 = np.zeros(64), np.zeros(64)
    body(text, out, out2, parameters="out, out2", grid=2, block=32)
    assert out2.tolist() == list(range(63, -1, -1))


@pytest.mark.exhaustive
def test_a_grid_that_waits_for_itself_has_a_limit():
    with pytest.raises(LaunchError, match=r"lockstep runs 270,336 at most together, as cuda\.cg\.this_grid"):
        body("cuda.cg.this_grid().sync()", np.zeros(1), grid=1000, block=1024)


# -- print, raise and assert


def test_print_writes_a_line_for_every_active_thread_and_what_is_in_tuples(capsys):
    for text, printed in [
        ("if cuda.laneid < 2:\n    print('lane', cuda.laneid, 0.5)", "lane 0 0.500000\nlane 1 0.500000\n"),
        ("if cuda.laneid < 1:\n    print('at', (0, (True, 2.5)), (1,), ())", "at (0, (True, 2.500000)) (1,) ()\n"),
    ]:
        body(text, np.zeros(1))
        assert capsys.readouterr().out == printed


def test_print_has_a_limit(capsys):
    body("for k in range(100):\n    print(k)", np.zeros(1))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1001
    assert lines[-1] == "kernel prints more; lockstep shows 1,000 lines of a launch"


def test_what_raises_ends_and_is_a_finding():
    out = np.zeros(32)
    _, (found,) = body("assert cuda.laneid < 30, 'too far'\nout[cuda.laneid] = 1", out)
    assert out.tolist() == [1] * 30 + [0] * 2
    assert (found.kind, found.line, found.threads) == ("raised", START + 2, ((30, 0, 0), (31, 0, 0)))
    assert found.message == "2 threads end here: assert cuda.laneid < 30, 'too far'"


# -- device functions and globals


def test_functions_types_and_shapes_may_be_arguments_of_device_functions():
    before = """
    @cuda.jit(device=True)
    def fold(combine, kind, count, i):
        held = cuda.shared.array(count, kind)
        held[i % count] = 0
        cuda.syncthreads()
        combine(held, 1, 3)
        cuda.syncthreads()
        return held[1]
    """
    text = "out[cuda.laneid] = fold(cuda.atomic.add, int32, 4, cuda.laneid)"
    assert result(text, before=before).tolist() == [96] * 32


def test_a_device_function_with_a_signature_casts():
    before = """
    @cuda.jit("int32(int32)", device=True)
    def same(x):
        return x * 1.5
    """
    assert result("out[cuda.laneid] = same(3.9) * 2", "float64", before=before).tolist() == [8.0] * 32


# -- shared memory and atomics


def test_a_shared_array_lies_as_it_is_asked_to():
    text = "a = cuda.shared.array(3, int8)\nb = cuda.shared.array(4, float32, alignment=64)\na[0] = 1\nb[0] = 1"
    launch, _ = body(text, np.zeros(1))
    a, b = launch.arrays[:2]
    assert (a.address % 64, b.address % 64, b.address - a.address) == (0, 0, 64)


@pytest.mark.parametrize(
    ("call", "wanted"), [("max", [np.nan, 2]), ("nanmax", [1, 2]), ("min", [np.nan, 1]), ("nanmin", [1, 1])]
)
@pytest.mark.parametrize("used", [False, True])
def test_a_nan_that_is_stored_stays_and_one_that_is_given_changes_nothing(call, wanted, used):
    held = np.array([np.nan, 1.0])
    store = "old = " if used else ""
    text = f"{store}cuda.atomic.{call}(held, cuda.laneid % 2, math.nan if cuda.laneid > 3 else 1.0 + cuda.laneid // 3)"
    body(text, held, parameters="held")
    np.testing.assert_equal(held, wanted)


def test_kernels_take_named_tuples():
    from collections import namedtuple

    pair = namedtuple("Pair", "a b")
    out = np.zeros(32)
    body("out[cuda.laneid] = p.a[cuda.laneid] + p.b", out, pair(np.arange(32.0), 0.5), parameters="out, p")
    assert out.tolist() == (LANES + 0.5).tolist()


def test_loads_and_stores_with_hints_are_loads_and_stores():
    out = np.zeros((2, 32))
    launch, _ = launch_text(
        "@cuda.jit\ndef kernel(a, out):\n    cuda.stcg(out, (1, cuda.laneid), cuda.ldcs(a, cuda.laneid))\n",
        np.arange(32.0), out,
    )  # fmt: skip
    assert out[1].tolist() == LANES.tolist()
    assert [(s.op, s.width) for s in launch.sites] == [("load", 8), ("store", 8)]


def test_a_tuple_cannot_grow_without_end():
    for grow, says in [
        ("t = t + t", "a tuple of more than 1,000 items"),
        ("t = (t, t)", "tuples nested deeper than 8 are not followed"),
    ]:
        with pytest.raises(UnsupportedError, match=says):
            result(f"t = (1, 2)\nfor k in range(100):\n    {grow}")
