"""What global sites move and use, and which elements are touched; counted by hand on launches written down here."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.gallery import matmul
from hypothesis import given
from hypothesis import strategies as st

import smemviz
from smemviz.model.counting.global_traffic import add_traffic, element_counts, elements, same_accesses, traffic_of
from smemviz.model.counting.summary import totals_of
from smemviz.paths import kernels_dir
from smemviz.recordings.data import ArrayInfo

S, T = 64, 32  # the side of the matrices and of the blocks


@pytest.fixture(scope="module")
def product():
    return matmul()


def test_both_index_orders_of_the_product_move_what_the_formula_says(product):
    """A warp is a row of 32 threads: as columns they share a[row, k] and walk along b; as rows the reverse."""
    warps = S * S // 32
    moved = {
        name: [(t.requests, t.sectors, t.used, t.fewest) for i in range(3) if (t := traffic_of(product[name], i))]
        for name in ("naive", "naive_swapped")
    }
    together, apart, alone = (4, 128, 4), (32, 128, 4), (1, 4, 1)  # sectors, bytes used, sectors that would do
    assert moved == {
        "naive": [(n, n * each[0], n * each[1], n * each[2]) for n, each in _sites(warps, alone, together, together)],
        "naive_swapped": [(n, n * each[0], n * each[1], n * each[2]) for n, each in _sites(warps, apart, alone, apart)],
    }


def _sites(warps, *each):
    return list(zip((warps * S, warps * S, warps), each, strict=True))


def test_efficiency_is_bytes_used_over_bytes_moved(product):
    a, b, c = (traffic_of(product["naive_swapped"], i) for i in range(3))
    assert a and b and c  # noqa: PT018
    assert [one.efficiency for one in (a, b, c)] == [1 / 8, 1 / 8, 1 / 8]
    assert [one.sectors_per_request for one in (a, b, c)] == [32, 1, 32]
    assert a.spread.nonzero()[0].tolist() == [32]
    both = add_traffic([a, b])
    assert both.sectors_per_request == 16.5
    assert both.spread[[1, 32]].tolist() == [b.requests, a.requests]


def test_a_partial_log_keeps_exact_sectors_and_says_what_the_efficiency_is_of(product):
    launch = product["naive_swapped"]
    totals = _totals(launch)
    logged = replace(launch, requests=launch.requests.select(launch.requests.block == 0), totals=totals)
    traffic = traffic_of(logged, 0)
    assert (traffic.requests, traffic.sectors, traffic.sectors_per_request) == (8192, 8192 * 32, 32)
    assert (traffic.logged, traffic.complete, traffic.efficiency) == (2048, False, 1 / 8)


def test_a_site_that_never_ran_or_is_shared_has_no_efficiency(product):
    launch = product["naive"]
    none = replace(launch, requests=launch.requests.select(launch.requests.site == 2))
    silent = traffic_of(none, 0)
    assert (silent.requests, silent.sectors_per_request, silent.efficiency, silent.complete) == (0, None, None, True)
    tiled = product["tiled"]
    shared = next(i for i, site in enumerate(tiled.sites) if site.space == "shared")
    assert traffic_of(tiled, shared) is None


def test_the_same_accesses_in_another_order_are_found(product):
    names = [launch.kernel for launch in same_accesses(product["naive"], product.launches)]
    assert names == ["naive_swapped"]
    swapped = [launch.kernel for launch in same_accesses(product["naive_swapped"], product.launches)]
    assert swapped == ["naive"]  # not the product of integers
    tiled = [launch.kernel for launch in same_accesses(product["tiled"], product.launches)]
    assert tiled == ["tiled_swapped"]  # the others with tiles move the same sectors
    assert same_accesses(product["register_1d"], product.launches) == []


def test_a_block_of_the_naive_product_loads_its_rows_and_columns_once_for_each_thread(product):
    """Document 003: by tiles every element is loaded S / T times rather than S times."""
    launch = product["naive"]
    a, b, c = (next(array for array in launch.arrays if array.name == name) for name in "abc")
    block = element_counts(launch, a, "load", block=1)  # the blocks are numbered along the rows of c
    assert block.element.tolist() == list(range(T * S))
    assert set(block.times.tolist()) == {T}
    columns = element_counts(launch, b, "load", block=1)
    assert columns.element.tolist() == [row * S + column for row in range(S) for column in range(T, 2 * T)]
    assert element_counts(launch, a, "load").times.sum() == element_counts(launch, b, "load").times.sum() == S**3
    assert element_counts(launch, c, "store").times.tolist() == [1] * S * S
    assert len(element_counts(launch, c, "load").times) == 0
    tiled = product["tiled"]
    a = next(array for array in tiled.arrays if array.name == "a")
    assert set(element_counts(tiled, a, "load").times.tolist()) == {S // T}


def test_a_wide_access_touches_every_element_under_it():
    launch = _wide()
    found = element_counts(launch, launch.arrays[0], "load")
    assert found.element.tolist() == list(range(128))
    assert set(found.times.tolist()) == {1}


def _wide():
    launch = smemviz.run(kernels_dir() / "square.py", engine="lockstep")["set_row_read_row"]
    site = replace(launch.sites[2], op="load", width=16)
    one = launch.requests.select(np.flatnonzero(launch.requests.site == 2)[:1])
    one.site[:] = 0
    one.addresses[:] = 4096 + 16 * np.arange(32)
    array = ArrayInfo("out", "global", (128,), (4,), "int32", 4096, 1)
    return replace(launch, sites=(site,), arrays=(array,), requests=one)


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.permutations(range(3)),
    st.lists(st.booleans(), min_size=3, max_size=3),
    st.integers(0, 2),
)
def test_every_element_of_any_layout_is_found_again(shape, order, backwards, gap):
    """Rows before columns or after, padded, reversed: NumPy's own addresses are the reference."""
    axes = len(shape)
    ranked = sorted(range(axes), key=lambda axis: order[axis])
    held = np.zeros([shape[axis] + gap for axis in ranked], np.int32)
    view = held[tuple(slice(0, shape[axis]) for axis in ranked)].transpose(np.argsort(ranked))
    view = view[tuple(slice(None, None, -1 if backwards[axis] else 1) for axis in range(axes))]
    start = view.__array_interface__["data"][0]
    array = ArrayInfo("x", "global", view.shape, view.strides, "int32", start, 1)
    index = np.indices(view.shape).reshape(axes, -1)
    addresses = start + np.tensordot(np.array(view.strides, np.int64), index, 1).astype(np.int64)
    assert elements(array, addresses + 3).tolist() == list(range(view.size))
    low, high = addresses.min(), addresses.max()
    assert elements(array, np.array([-1, low - 1, high + 4])).tolist() == [-1, -1, -1]


def _totals(launch):
    return totals_of(launch.sites, launch.requests)
