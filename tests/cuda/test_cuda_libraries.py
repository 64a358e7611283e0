"""Headers of a library that is large: the compiler reads them as they are."""

import json

import pytest

from smemviz.frontends.cuda import compiling
from smemviz.frontends.cuda.text.cuda_functions import find_functions
from smemviz.frontends.reading import read_program

LIBRARY = """#define BOTH __host__ __device__
template <class T> BOTH T twice(T value) { return value + value; }
"""
KERNEL = """#include <library.h>
BOTH int more(int value) { return value + 1; }
template <class L> __global__ void k(int *out, L last) {
    __shared__ int tile[32];
    tile[threadIdx.x] = more(twice((int)threadIdx.x));
    out[threadIdx.x] = tile[threadIdx.x];
}
// smemviz: k<int><<<1, 32>>>(zeros(32), 3)
"""


@pytest.mark.parametrize("most", [0, 1 << 20])
def test_accesses_of_a_kernel_are_found_whether_or_not_it_uses_one(tmp_path, monkeypatch, command, most):
    monkeypatch.setattr(compiling, "_LIBRARY_BYTES", most)
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "library.h").write_text(LIBRARY)
    (tmp_path / "k.cu").write_text(KERNEL)
    said = json.loads(command("run", tmp_path / "k.cu", "-I", tmp_path / "library", "--json").out)
    (launch,) = said["launches"]
    shared = [(site["line"], site["op"]) for site in launch["sites"] if site["space"] == "shared"]
    assert sorted(shared) == [(5, "store"), (6, "load")]
    assert said["findings"] == []


def test_headers_are_in_the_include_folder_of_the_project(tmp_path, command):
    for folder in ("include", "src/deep"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "include" / "library.h").write_text(LIBRARY)
    path = tmp_path / "src" / "deep" / "k.cu"
    path.write_text(KERNEL)
    assert "library.h is not in the folder of the file" in command("run", path, code=2).err
    (tmp_path / "CMakeLists.txt").touch()
    (launch,) = json.loads(command("run", path, "--json").out)["launches"]
    assert sorted(site["op"] for site in launch["sites"] if site["space"] == "shared") == ["load", "store"]
    (unit,) = read_program(path).with_units([("more.cu", KERNEL)]).units
    assert unit.folders == ((tmp_path / "include").as_posix(),)


def test_a_parameter_that_is_a_type_alone_has_no_name():
    (function,) = find_functions("template <class L> __global__ void k(int *out, L, const L, int, L last) {}")
    assert function.parameters == ("out", "", "", "", "last")
