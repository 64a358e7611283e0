"""The pictures of global memory, on the matrix product in both index orders of document 003."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.gallery import matmul
from helpers.reading import cells, framed, written
from helpers.synthetic import square_recording

import smemviz
from smemviz.figures.elements import accessed, described_counts, shown_array, touched_elements
from smemviz.figures.sectors import largest_request, sectors, spread, used_of
from smemviz.model.counting.global_traffic import traffic_of
from smemviz.model.playback import request_view, worst_request
from smemviz.paths import kernels_dir
from smemviz.recordings.data import ArrayInfo

NOT_MOVED, UNUSED, USED = 0, 1, 2


@pytest.fixture(scope="module")
def product():
    return matmul()


def test_a_row_of_b_fills_one_line_and_a_broadcast_names_all_its_lanes(product):
    figure = sectors(request_view(product["naive"], warp=3, site=1))
    assert written(figure) == {(lane, 0): f"L{lane}" for lane in range(32)}
    assert cells(figure).z.tolist() == [[USED] * 32]
    assert list(figure.layout.yaxis.ticktext) == ["b[0, 0]"]
    assert list(figure.layout.xaxis.ticktext) == ["0 to 31", "32 to 63", "64 to 95", "96 to 127"]
    figure = sectors(request_view(product["naive"], warp=3, site=0))
    assert written(figure) == {}  # wider than its cell
    assert cells(figure).hovertext[0, 0].endswith("lanes 0-31")
    assert cells(figure).z.tolist() == [[USED, *[UNUSED] * 7, *[NOT_MOVED] * 24]]


def test_a_column_of_a_takes_a_sector_of_another_line_for_each_lane_and_leaves_the_rest_unused(product):
    figure = sectors(request_view(product["naive_swapped"], warp=3, site=0))
    assert written(figure) == {(0, lane): f"L{lane}" for lane in range(32)}
    assert cells(figure).z.tolist() == [[USED, *[UNUSED] * 7, *[NOT_MOVED] * 24]] * 32
    assert list(figure.layout.yaxis.ticktext) == [f"a[{row}, 0]" for row in range(32)]
    struck = next(trace for trace in figure.data if trace.name == "moved and not used")
    assert np.isnan(struck.x.astype(float)).sum() == 32 * 7
    boxes = next(trace for trace in figure.data if trace.name == "sector moved")
    assert np.isnan(boxes.x.astype(float)).sum() == 32
    assert cells(figure).hovertext[5, 0] == "<b>line of a[5, 0]</b>, sector 0, bytes 0 to 3<br>lane 5"
    assert cells(figure).hovertext[5, 1].endswith("bytes 4 to 7<br>moved and not used")
    assert cells(figure).hovertext[5, 9].endswith("sector 1, bytes 36 to 39<br>not moved")


def test_bytes_of_a_word_that_are_not_used_are_struck_out_beside_the_lane():
    now = request_view(square_recording()["set_row_read_row"], site=2)
    narrow = replace(now.launch, sites=(*now.launch.sites[:2], replace(now.launch.sites[2], width=1)))
    figure = sectors(request_view(narrow, site=2))
    assert set(cells(figure).z.ravel().tolist()) == {USED}
    struck = next(trace for trace in figure.data if trace.name == "moved and not used")
    assert np.isnan(struck.x.astype(float)).sum() == 32


def test_sixteen_bytes_a_lane_take_eight_lanes_a_line():
    now = request_view(square_recording()["set_row_read_row"], site=2)
    assert now.row is not None
    log = now.launch.requests.select(np.array([now.row]))
    log.addresses[:] = (1 << 32) + 16 * np.arange(32)
    site = replace(now.launch.sites[2], width=16)
    figure = sectors(request_view(replace(now.launch, sites=(*now.launch.sites[:2], site), requests=log), site=2))
    assert cells(figure).z.shape == (4, 8)
    assert written(figure)[7, 3] == "L31"


def test_what_has_no_sector_no_argument_or_no_array_says_so(product):
    figure = sectors(request_view(square_recording()["set_row_read_row"], site=0))
    assert figure.layout.annotations[0].text == "This request goes to shared memory: no sector is moved."
    launch = replace(product["naive"], arrays=())
    now = request_view(launch, site=1)
    assert list(sectors(now).layout.yaxis.ticktext) == [f"{launch.requests.addresses[now.row, 0]:#x}"]
    assert (shown_array(now, None), described_counts(now, None)) == (None, "")
    assert touched_elements(now, None).layout.annotations[0].text == "This launch touches no array in global memory."


@pytest.fixture(scope="module")
def neighbours():
    reduce = smemviz.run(kernels_dir() / "reduce.py", {"N": 1024, "THREADS": 256}, engine="lockstep")
    return reduce["neighbours_in_global_memory"]


def test_all_requests_of_a_site_are_counted_by_their_sectors(neighbours):
    traffic = traffic_of(neighbours, 0)
    assert traffic
    (bars,) = spread(traffic).data
    # With t % (2 * step) == 0 the lanes of a request are 2, 4, 8, 16, 32 and more words apart: 4, 4, 4, 2, 1 sectors.
    assert dict(zip(bars.x, bars.y.tolist(), strict=True)) == {"1": 60, "2": 32, "4": 96}
    assert used_of(traffic) == (
        "4,080 of 16,256 bytes moved are used, 25.1 %. "
        "Not fully coalesced: 220 sectors would hold the bytes that are used."
    )


def test_the_largest_request_of_a_site_is_found_and_without_shared_memory_the_worst(product, neighbours):
    now = largest_request(neighbours, 0)
    assert now
    assert cells(sectors(now)).z.shape == (1, 32)
    nothing = neighbours.requests.select(np.zeros(0, np.intp))
    assert largest_request(replace(neighbours, requests=nothing), 0) is None
    now = worst_request(product["naive_swapped"])
    assert product["naive_swapped"].sites[product["naive_swapped"].requests.site[now.row]].source == "a[row, k]"


def test_what_is_known_of_a_partial_log_says_so(product):
    traffic, together = traffic_of(product["naive_swapped"], 0), traffic_of(product["naive"], 1)
    assert traffic
    assert together
    said = "Every request moves 32 sectors; 1,048,576 of 8,388,608 bytes moved are used, 12.5 %"
    apart = "Not fully coalesced: 32,768 sectors would hold the bytes that are used."
    assert used_of(traffic) == f"{said}. {apart}"
    logged = "in the 8,192 requests that were logged of 9,000"
    assert used_of(replace(traffic, requests=9000)) == f"{said}, {logged}. {apart}"
    assert used_of(together).endswith("Coalesced: no request moves more sectors than its bytes fill.")


# --- elements


def present(product, kernel, site):
    return request_view(product[kernel], warp=3, site=site)


def test_the_elements_that_a_block_loads_are_shaded_and_the_request_s_are_framed(product):
    now = present(product, "naive_swapped", 0)
    looked = shown_array(now, None)
    assert looked
    figure = touched_elements(now, looked)
    assert cells(figure).z.tolist() == [[1] * 64] * 32 + [[0] * 64] * 32  # rows 0 to 31 of a
    assert framed(figure, "this request") == {(0, row) for row in range(32)}
    key = [trace.name for trace in figure.data if trace.name and trace.showlegend is not False]
    assert key == ["32", "never", "this request"]
    assert figure.layout.legend.title.text == "times loaded:"
    assert cells(figure).hovertext[3, 5] == "<b>a[3, 5]</b><br>loaded 32 times"
    assert cells(figure).hovertext[40, 5] == "<b>a[40, 5]</b><br>never loaded"
    whole = shown_array(now, None, whole=True)
    assert cells(touched_elements(now, whole)).z.tolist() == [[1] * 64] * 64


def test_a_sentence_says_how_often_by_the_block_and_in_all(product):
    said = described_counts(present(product, "naive", 0), shown_array(present(product, "naive", 0), None))
    assert said == (
        "Of the 4,096 elements of a, loaded by threads: 2,048 by block 0, 32 times each; "
        "4,096 by all blocks, 64 times each."
    )
    now = present(product, "naive", 2)
    assert "1,024 by block 0, once each" in described_counts(now, shown_array(now, None))


def test_elements_that_nobody_stores_are_counted(product):
    """2 x 2 threads for tiles of 32 x 32: 4 of 1,024 elements are stored, the others keep what another kernel left."""
    corner = smemviz.run(kernels_dir() / "mistakes.py", engine="lockstep")["corner_of_each_tile"]
    now = request_view(corner)
    said = described_counts(now, shown_array(now, "c"))
    assert said.startswith("Of the 1,024 elements of c, stored by threads: 4 by block 0, once each; 4 by all blocks")
    assert said.endswith(" 1,020 elements are stored by no thread and keep what they held.")
    assert "keep" not in described_counts(
        request_view(product["naive"]), shown_array(request_view(product["naive"]), "c")
    )


def test_the_array_is_the_one_asked_for_or_the_one_last_gone_to(product):
    tiled = product["tiled"]
    assert accessed(tiled) == ["c", "a", "b"]
    shared = next(i for i, site in enumerate(tiled.sites) if site.space == "shared" and site.op == "load")
    now = request_view(tiled, site=shared)
    chosen = [shown_array(now, name) for name in (None, "c", "nothing")]
    assert [(one.array.name, one.kind) for one in chosen if one] == [("b", "load"), ("c", "store"), ("b", "load")]


def test_a_large_array_is_drawn_in_cells_of_several_elements(product):
    launch = product["naive"]
    launch = replace(launch, requests=launch.requests.select(launch.requests.site == 0))
    larger = ArrayInfo("a", "global", (640, 640), (4, 2560), "float32", launch.arrays[1].address, 1)
    now = request_view(replace(launch, arrays=(launch.arrays[0], larger, launch.arrays[2])), warp=3, site=0)
    looked = shown_array(now, "a")
    assert looked
    figure = touched_elements(now, looked)
    # Column by column: the 2,048 elements of the block are the first 3.2 columns; a cell is 10 x 5 elements.
    z = cells(figure).z
    assert z.shape == (64, 128)
    assert z[:, 0].all()
    assert not z[:, 1:].any()
    assert figure.layout.xaxis.title.text == "column (640; a cell is 10 x 5 elements)"
    assert "40 of its elements loaded, at most 32 times" in cells(figure).hovertext[0, 0]


def test_a_vector_is_folded_at_a_line_and_its_counts_are_written_into_the_cells(neighbours):
    now = request_view(neighbours, site=0)
    figure = touched_elements(now, shown_array(now, "values"))
    assert cells(figure).z.shape == (32, 32)
    # The last thread standing loads element 0 in each of 8 steps and for the sum; its neighbour is loaded once.
    assert [written(figure)[x, 0] for x in (0, 1, 2, 4, 16)] == ["9", "1", "2", "3", "5"]
