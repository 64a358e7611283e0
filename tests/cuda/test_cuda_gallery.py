"""Kernels written in CUDA C++ and in Python make the same requests."""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from helpers.gallery import RECORDINGS, SLOW, h200
from helpers.same_requests import relative_requests
from helpers.tiers import but
from plotly.utils import PlotlyJSONEncoder

import smemviz
from smemviz.app.library import Library
from smemviz.app.pages.kernel.run_view import view_run
from smemviz.model.layout.array_requests import relative_addresses
from smemviz.paths import gallery, kernels_dir

FILES = but(SLOW, ("square", "rectangle", "transpose", "reduce", "reverse", "matmul", "submatrix"))


# What only C++ can write: Numba declares shared arrays in functions only.
OF_FILE = {"set_row_read_col_file": "set_row_read_col", "set_row_read_col_dyn_file": "set_row_read_col_dyn"}


@cache
def both(name):
    cpp, python = (smemviz.run(kernels_dir() / f"{name}{ending}", engine="lockstep") for ending in (".cu", ".py"))
    return cpp, python


def with_twins(recording):
    return tuple(launch for launch in recording.launches if launch.kernel not in OF_FILE)


@pytest.mark.parametrize("name", FILES)
def test_both_languages_make_the_same_requests(name):
    cpp, python = both(name)
    twins = [launch for launch in python.launches if launch.kernel in {one.kernel for one in cpp.launches}]
    assert len(cpp.launches) >= 2
    assert [launch.kernel for launch in with_twins(cpp)] == [launch.kernel for launch in twins]
    for one, other in zip(with_twins(cpp), twins, strict=True):
        assert relative_requests(one) == relative_requests(other), one.kernel
        assert one.shared_bytes == other.shared_bytes
    assert not cpp.findings


def test_arrays_that_are_declared_in_the_file_make_the_requests_of_those_in_the_kernel():
    cpp, _ = both("square")
    for kernel, twin in OF_FILE.items():
        for view in (cpp, smemviz.run(kernels_dir() / "square.cu", view="compiled")):
            rows = [row.wavefronts for row in view[kernel].summary()]
            assert rows == [row.wavefronts for row in view[twin].summary()] == [32, 1024, None]
            assert view[kernel].shared_bytes == view[twin].shared_bytes == 4096
        (array,), (other,) = cpp[kernel].shared_arrays, cpp[twin].shared_arrays
        assert (array.shape, array.dynamic) == (other.shape, other.dynamic)
        assert cpp.source.splitlines()[array.line - 1].startswith(("__shared__", "extern __shared__"))
        named, plain = (
            Counter({(*key[:2], *key[3:]): n for key, n in relative_requests(cpp[name]).items()})
            for name in (kernel, twin)
        )
        assert named == plain


@pytest.mark.exhaustive
def test_the_chases_of_both_languages_come_to_the_same_places():
    """C++ keeps the word register for itself, and reads its constants by addresses that may be of any memory."""
    cpp, python = both("latency")
    assert [launch.kernel.rstrip("s") for launch in cpp.launches] == [launch.kernel for launch in python.launches]
    for one, other in zip(cpp.launches, python.launches, strict=True):
        if one.kernel != "constant_memory":
            assert relative_requests(one) == relative_requests(other), one.kernel
    (compiled, _) = smemviz.run(kernels_dir() / "latency.cu", view="compiled", kernels=["constant_memory"]).launches
    assert relative_requests(compiled) == relative_requests(python["constant_memory"])
    assert not cpp.findings


def test_the_mistakes_of_both_languages_are_found():
    """In C++ a column too many is the first of the next row: what Python refuses is a race of two blocks there."""
    cpp, python = both("mistakes")
    found, expected = (
        Counter((finding.kind, finding.kernel) for finding in recording.findings) for recording in (cpp, python)
    )
    assert found == expected + Counter([("race", "store_past_the_edge")])
    for one, other in zip(cpp.launches, python.launches, strict=True):
        if one.kernel not in ("store_past_the_edge", "count_without_atomic"):  # whose numbers are others
            assert relative_requests(one) == relative_requests(other), one.kernel
    declared = next(finding for finding in cpp.findings if finding.kernel == "too_much_static_memory")
    assert "Declare it dynamic (extern) and" in declared.message


@pytest.mark.parametrize("name", FILES)
def test_both_languages_have_the_same_table(name):
    cpp, python = both(name)
    for one in with_twins(cpp):
        other = python[one.kernel]
        ours = Counter(
            (s.array.removesuffix(".elements"), s.space, s.op, s.width, row)
            for s, row in zip(one.sites, one.summary(), strict=True)
        )
        theirs = [(s.array, s.space, s.op, s.width, row) for s, row in zip(other.sites, other.summary(), strict=True)]
        assert ours == Counter(theirs), one.kernel


@pytest.mark.parametrize("name", FILES)
def test_shared_arrays_have_the_shapes_and_types_of_the_source(name):
    cpp, python = both(name)
    for one in with_twins(cpp):
        shapes = [
            [(a.name, a.shape, a.strides, a.dtype, a.dynamic) for a in launch.shared_arrays]
            for launch in (one, python[one.kernel])
        ]
        assert shapes[0] == shapes[1], one.kernel


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FILES)
def test_the_compiled_view_runs_every_kernel(name):
    source, compiled = (smemviz.run(kernels_dir() / f"{name}.cu", view=view) for view in ("source", "compiled"))
    assert compiled.view == "compiled"
    assert [launch.kernel for launch in compiled.launches] == [launch.kernel for launch in source.launches]
    assert not compiled.findings


def test_the_square_kernels_cost_what_the_h200_counted():
    recording = smemviz.run(Path(kernels_dir()) / "square.cu")
    wavefronts = {
        launch.kernel: tuple(row.wavefronts for row in launch.summary() if row.wavefronts is not None)
        for launch in with_twins(recording)
    }
    # (store, load); Nsight Compute on the H200: row/row 32/32, col/col 1,024/1,024, padded 32/32.
    assert wavefronts == {
        "set_row_read_row": (32, 32),
        "set_col_read_col": (1024, 1024),
        "set_row_read_col": (32, 1024),
        "set_row_read_col_dyn": (32, 1024),
        "set_row_read_col_pad": (32, 32),
        "set_row_read_col_dyn_pad": (32, 32),
    }


def test_a_tiled_product_costs_what_the_h200_counted_for_unmerged_loads():
    launch = smemviz.run(kernels_dir() / "matmul.cu", kernels="tiled")["tiled"]
    assert (
        sum(row.wavefronts or 0 for s, row in zip(launch.sites, launch.summary(), strict=True) if s.op == "load")
        == 16384
    )


@pytest.mark.parametrize("view", ["source", "compiled"])
def test_counts_are_those_of_the_h200(view):
    recording = smemviz.run(Path(__file__).parents[1] / "data" / "cuda" / "counted.cu", view=view)
    counts = {}
    for launch in recording.launches:
        rows = [(s.op, row.wavefronts or 0) for s, row in zip(launch.sites, launch.summary(), strict=True)]
        counts[launch.kernel] = tuple(sum(n for op, n in rows if op == which) for which in ("load", "store"))
    # (load, store), Nsight Compute on the H200.
    assert counts == {"panel": (2560, 256), "interleaved": (380, 220), "shuffled": (2, 16)}
    assert not recording.findings


@pytest.mark.parametrize("name", FILES)
def test_each_kernel_leads_to_its_twin_and_back(name):
    library = Library(gallery())
    assert f"{name}.cu" not in library.files  # which are the cards of the gallery
    for kernel in library.program(f"{name}.cu").kernels.keys() - OF_FILE.keys():
        assert library.twins(name, kernel) == (f"{name}.cu",)
        assert library.twins(f"{name}.cu", kernel) == library.twins(f"{name}.cu@compiled", kernel) == (name,)


def test_the_page_links_the_twin_with_the_constants_that_both_have():
    library = Library(gallery())
    there, back = (
        json.dumps(view_run(library, query)["twins.html"], cls=PlotlyJSONEncoder)
        for query in (
            {"file": "square", "kernel": "set_row_read_col_pad", "IPAD": "2", "cc": "8.0", "site": "1"},
            {"file": "square.cu", "kernel": "set_row_read_col_pad", "IPAD": "2"},
        )
    )
    assert "The same in CUDA C++" in there
    assert "/kernel?file=square.cu&kernel=set_row_read_col_pad&IPAD=2&cc=8.0" in there
    assert "The same in Python" in back
    assert "/kernel?file=square&kernel=set_row_read_col_pad&IPAD=2" in back


def test_a_kernel_without_a_twin_leads_to_none_and_strangers_see_no_link():
    library = Library(gallery())
    assert library.twins("histogram", "shared_bins") == ()
    assert library.twins("matmul", "no_such_kernel") == ()
    assert Library(gallery(), local=False).twins("square", "set_row_read_col") == ()


def test_files_of_both_languages_are_shown_together():
    folder = kernels_dir()
    library = Library([folder / "square.cu", folder / "square.py", folder / "reverse.cu"])
    assert library.files == ("square.cu", "square.cu@compiled", "square", "reverse.cu", "reverse.cu@compiled")
    assert library.twins("square", "set_row_read_col") == ("square.cu",)
    assert library.twins("reverse.cu", "static_reverse") == ("reverse",)


@pytest.mark.parametrize("name", but(SLOW, sorted(path.name.partition(".")[0] for path in RECORDINGS.glob("*.cu.*"))))
def test_the_recordings_of_an_h200_say_what_lockstep_says(name):
    recorded = h200(f"{name}.cu")
    expected = smemviz.run(kernels_dir() / f"{name}.cu", engine="lockstep")

    assert recorded.engine == "gpu"
    assert recorded.sha256 == expected.sha256
    for one, other in zip(recorded.launches, expected.launches, strict=True):
        assert one.sites == other.sites
        assert one.summary() == other.summary()
        for addresses, wanted in zip(relative_addresses(one), relative_addresses(other), strict=True):
            np.testing.assert_array_equal(addresses, wanted)  # ptxas may place shared arrays in another order
        assert one.time.median_us > one.time.floor_us > 0
