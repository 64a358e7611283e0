"""What a site of a launch says of itself: its counts, without keeping alive what they are counted by."""

import gc
import pickle
import weakref
from dataclasses import asdict, fields, replace

import pytest
from helpers.gallery import h200

from smemviz.errors import InputError
from smemviz.recordings.data import Site
from smemviz.views.columns import COLUMNS


@pytest.fixture
def launch():
    return h200("square")["set_row_read_col"]


def test_a_site_has_its_counts(launch):
    store, load, out = launch.sites
    assert (load.line, load.source) == (53, "tile[tx, ty]")
    assert (load.requests, load.wavefronts, load.ideal, load.excess, load.max_degree) == (32, 1024, 32, 992, 32)
    assert (load.sectors, load.sectors_per_request, load.efficiency, load.bytes_wasted) == (None, None, None, 126976)
    assert (store.wavefronts, store.excess, store.max_degree) == (32, 0, 1)
    assert (out.requests, out.wavefronts, out.excess, out.max_degree) == (32, None, None, None)
    assert (out.sectors, out.sectors_per_request, out.bytes_used, out.efficiency, out.bytes_wasted) == (
        128,
        4,
        4096,
        1,
        0,
    )


def test_every_count_that_tables_have_is_one_of_a_site():
    assert [column.name for column in COLUMNS if not isinstance(getattr(Site, column.name, None), property)] == []


def test_counts_are_those_of_the_summary_in_every_launch_of_the_gallery():
    for launch in h200("transpose"):
        for site, row in zip(launch.sites, launch.summary(), strict=True):
            assert [getattr(site, field.name) for field in fields(row)[:6]] == list(asdict(row).values())[:6]


def test_a_launch_that_is_changed_is_counted_anew(launch):
    half = replace(launch, requests=launch.requests.select(launch.requests.warp < 16))
    assert [site.wavefronts for site in half.sites] == [16, 512, None]
    assert [site.wavefronts for site in launch.sites] == [32, 1024, None]


def test_a_site_by_itself_says_where_its_counts_are(launch):
    alone = Site(**asdict(launch.sites[0]))
    assert alone == launch.sites[0]
    with pytest.raises(InputError, match="a site by itself has no wavefronts; read it from the sites of a launch"):
        _ = alone.wavefronts


def test_a_site_that_is_pickled_takes_no_arrays_along_and_a_launch_brings_its_counts(launch):
    assert len(pickle.dumps(launch.sites[1])) < 1000
    assert pickle.loads(pickle.dumps(launch)).sites[1].wavefronts == 1024


def test_counts_keep_a_site_usable_and_no_launch_alive():
    recording = h200.__wrapped__("square")  # which is kept for nobody else
    gone, site = weakref.ref(recording.launches[0]), recording["set_row_read_col"].sites[1]
    gc.disable()  # nothing but the count of references may be needed
    try:
        del recording
        assert gone() is None
    finally:
        gc.enable()
    assert site.wavefronts == 1024
