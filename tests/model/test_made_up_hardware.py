"""Hardware that nobody makes, 64 banks of 4 bytes, costs one row of the table: everything that counts follows."""

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from helpers.reading import cells
from helpers.synthetic import square_launch, square_recording

import smemviz
from smemviz.engines.gpu.ptx.access_calls import served_as
from smemviz.figures.banks import banks
from smemviz.figures.tile import tile
from smemviz.model.counting.service import assign, count
from smemviz.model.counting.summary import summarize, totals_of
from smemviz.model.hardware import compute_capability
from smemviz.model.hardware.compute_capability import blocks_per_multiprocessor, device
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.layout.accesses import access_of
from smemviz.model.layout.across_gpus import Access, on_every_gpu
from smemviz.model.layout.array_requests import array_requests
from smemviz.model.layout.layouts import layout_of
from smemviz.model.layout.search import search
from smemviz.model.playback import bank_layout, bank_service, request_view
from smemviz.paths import kernels_dir
from smemviz.recordings.measured import Device
from smemviz.wording.explanations import explain

BANKS, WORD = 64, 4
TOGETHER = {1: 32, 2: 32, 4: 32, 8: 32, 16: 16}  # lanes that fill a row of banks, 256 bytes
HARDWARE = Hardware((13, 0))
LANES = np.arange(32)


@pytest.fixture(autouse=True)
def row(monkeypatch):
    """The one row."""
    made_up = replace(
        device((9, 0)),
        cc=HARDWARE.cc,
        family="Imagined",
        banks=BANKS,
        phases=MappingProxyType(TOGETHER),
        merges_wide_loads=False,
    )
    monkeypatch.setitem(compute_capability._TABLE, made_up.cc, made_up)
    return made_up


def requests(width):
    """Return requests of every stride up to two rows of banks, and scattered ones, some of their lanes off."""
    chance = np.random.default_rng(width)
    index = np.vstack([np.arange(129)[:, None] * LANES, chance.integers(0, 400, (200, 32))])
    return np.where(chance.random(index.shape) < 0.1, -1, index * width)


def phases(addresses, lanes):
    """Give the addresses of the lanes that are served together."""
    for first in range(0, 32, lanes):
        yield [int(one) for one in addresses[first : first + lanes] if one >= 0]


def fullest(addresses, width):
    """Return how many different words the busiest bank delivers, word by word."""
    words = {address // WORD + piece for address in addresses for piece in range(max(1, width // WORD))}
    in_bank: dict[int, int] = {}
    for word in words:
        in_bank[word % BANKS] = in_bank.get(word % BANKS, 0) + 1
    return max(in_bank.values(), default=0)


def test_wavefronts_are_those_of_64_banks_word_by_word():
    for op in ["load", "store"]:
        for width in TOGETHER:
            asked = requests(width)
            found = count(asked, width, op, HARDWARE)
            for i, addresses in enumerate(asked):
                degrees = [fullest(phase, width) for phase in phases(addresses, TOGETHER[width])]
                counted = (int(column[i]) for column in found)
                assert tuple(counted) == (sum(degrees), sum(1 for one in degrees if one), max(degrees)), addresses
            assert (assign(asked, width, op, HARDWARE).max(axis=(1, 2)) + 1).tolist() == found.wavefronts.tolist()


def test_a_kernel_in_lockstep_is_counted_so():
    recording = smemviz.run(str(kernels_dir() / "square.py"), engine="lockstep")
    launch = recording["set_row_read_col"]  # 32 x 32 words, whose columns lie in two banks of 64
    ours, known = launch.summary(cc=HARDWARE.cc), launch.summary()
    shared = [i for i, site in enumerate(launch.sites) if site.space == "shared"]
    assert [(known[i].wavefronts, known[i].max_degree) for i in shared] == [(32, 1), (1024, 32)]
    assert [(ours[i].wavefronts, ours[i].max_degree) for i in shared] == [(32, 1), (512, 16)]
    assert Hardware.of(replace(recording, device=Device("a card", HARDWARE.cc, "1", "13.0"))) == HARDWARE


def column():
    return square_launch("set_row_read_col", (32, 32), lambda x, y: y * 32 + x, lambda x, y: x * 32 + y)


def test_figures_have_64_banks():
    now = request_view(column(), warp=0, step=1)
    served = bank_service(now, bank_layout(now.launch, HARDWARE), HARDWARE)
    assert (served.wavefronts, sorted(set(served.bank.tolist()))) == (16, [0, 32])
    assert cells(banks(now, hardware=HARDWARE)).z.shape == (16, 64)
    of_tile = tile(now, "tile", hardware=HARDWARE)
    assert len([shape for shape in of_tile.layout.shapes if shape.ysizemode == "pixel"]) == 64  # the bar of banks
    assert cells(of_tile).z[:2].tolist() == [list(range(32)), list(range(32, 64))]
    assert cells(tile(now, "tile", view="physical", hardware=HARDWARE)).z.shape == (16, 64)


def test_a_stride_is_explained_by_64_banks():
    store, load, _ = (one.because for one in explain(column(), HARDWARE))
    assert "gcd(1, 64) = 1, so 32 lanes fall into 32 of 64 banks, one each" in store
    assert "gcd(32, 64) = 32, so 32 lanes fall into 2 of 64 banks, 16-way" in load


def test_what_the_gpu_engine_counts_by_is_the_rule_of_the_model():
    """The device functions do no more than this with it: pieces, the places these lie in, the fullest place."""
    for hardware in [HARDWARE, H200]:
        for op, width in [*((op, width) for op in ("load", "store") for width in TOGETHER), ("atomic_add", 4)]:
            rule = served_as(op, width, hardware)
            assert rule.piece_bytes * rule.places == hardware.bytes_per_wavefront
            asked = requests(width)
            if rule.merges:  # which is asked of the lanes beforehand
                asked = asked[[i for i, one in enumerate(asked) if not (pairs(one, 1) or pairs(one, 2))]]
            expected = count(asked, width, op, hardware)
            for i, addresses in enumerate(asked):
                degrees = []
                for phase in phases(addresses, rule.lanes):
                    pieces = [address // rule.piece_bytes for address in phase]
                    places = [piece % rule.places for piece in (set(pieces) if rule.shares else pieces)]
                    degrees.append(max(map(places.count, places), default=0))
                assert (sum(degrees), max(degrees)) == (expected.wavefronts[i], expected.degree[i])


def pairs(addresses, distance):
    partner = addresses[LANES ^ distance]
    return bool(((addresses < 0) | (partner < 0) | (addresses == partner)).all())


def test_totals_of_other_rules_are_not_taken_for_its_own():
    launch = square_recording()["set_row_read_col"]
    totals = totals_of(launch.sites, launch.requests)
    half = launch.requests.select(launch.requests.warp < 16)
    store, load, _ = summarize(replace(launch, requests=half, totals=totals), HARDWARE)
    assert (load.wavefronts, load.complete) == (16 * 16, False)
    assert summarize(replace(launch, requests=half, totals=totals), H200)[1].wavefronts == 1024
    assert store.max_degree == 1


def test_it_stands_among_all_gpus(row):
    gpus = on_every_gpu(Access(LANES[None] * 128, 4, "load", "float32"), H200)
    (ours,) = (gpu for gpu in gpus if gpu.rows[0].family == "Imagined")
    assert ours.rows == (row,)
    assert ours.cost.wavefronts == 16
    assert [step.respect for step in ours.steps] == ["banks"]
    assert blocks_per_multiprocessor(0, HARDWARE.cc) == 32


def test_the_search_for_a_layout_goes_as_far_as_64_banks_do():
    tile = layout_of("64x64")
    found = search(tile, [array_requests(access_of("column"), tile)], HARDWARE)
    assert sorted(one.layout.pad for one in found if one.layout.swizzle is None) == list(range(64))
    assert max(one.layout.swizzle.bits for one in found if one.layout.swizzle) == 6
    plain = next(one for one in found if one.layout == tile)
    assert (plain.excess, found[0].excess) == (128 * 31, 0)
