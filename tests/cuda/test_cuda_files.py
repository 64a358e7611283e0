"""A ``.cu`` file as a program: constants, launches, errors in one line, and what can be run of it."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import smemviz
from smemviz.app.library import Library
from smemviz.app.pages.kernel.run_view import view_run
from smemviz.engines.lockstep.ptx.host import cuda_in_lockstep
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.errors import ConstantError, InputError, KernelFileError, LaunchError, MissingError, UnsupportedError
from smemviz.frontends.cuda import compile_program, parse_cuda
from smemviz.frontends.cuda.constants import UnreadableError, parse
from smemviz.frontends.cuda.launches import array_of, planned_launches
from smemviz.frontends.cuda.shapes import Element, Parameter
from smemviz.frontends.reading import read_program
from smemviz.paths import installing, kernels_dir

KERNEL = "__global__ void k(int *a) "
LAUNCH = "// smemviz: k<<<1, 1>>>"


def written(folder, text, name="kernel.cu"):
    path = folder / name
    path.write_text(text)
    return path


def test_capitalised_defines_and_constexprs_are_constants_and_follow_each_other():
    text = (
        "#define TILE 32\n#define PITCH (TILE + 1)\nconstexpr int HALF = TILE / 2, BOTH = HALF * 2;\n"
        "#define CALL(x) x\n#define name 3\n"
    )
    program = parse_cuda(text, "x.cu")
    assert program.values == {"TILE": 32, "PITCH": 33, "HALF": 16, "BOTH": 32}
    assert program.with_constants({"TILE": "16"}).values == {"TILE": 16, "PITCH": 17, "HALF": 8, "BOTH": 16}
    assert program.with_constants({"HALF": 3}).text.splitlines()[2] == "constexpr int HALF = 3, BOTH = HALF * 2;"
    several = parse_cuda("const int M = 1 << 10;\nconst int N = M;\nconstexpr int K = 1 << 12, L = 3;\n", "x.cu")
    changed = several.with_constants({"M": 4, "N": 5, "K": 6})
    assert changed.text == "const int M = 4;\nconst int N = 5;\nconstexpr int K = 6, L = 3;\n"
    with pytest.raises(ConstantError, match="there is no constant name; the file has: TILE, PITCH, HALF, BOTH"):
        program.with_constants({"name": 4})


def test_launches_stand_in_comments_and_one_is_offered():
    text = (
        "__global__ void scale(float *out, const float *in, int n) {}\n"
        "int main() {\n    scale<<<dim3(2, 2), 64, 128>>>(out, in, 1024);\n}\n"
    )
    with pytest.raises(KernelFileError) as refused:
        planned_launches(parse_cuda(text, "x.cu"))
    offer = "// smemviz: scale<<<1, 32>>>(zeros(1024), zeros(1024), 1024)"
    assert str(refused.value) == f"x.cu:1: has no launch; add a comment such as {offer}"
    (launch,) = planned_launches(parse_cuda(text + offer, "x.cu"))
    assert (launch.kernel, launch.grid, launch.block) == ("scale", 1, 32)
    asked = "// smemviz: scale<<<dim3(2, 2), 64, 128>>>(zeros(1024), zeros(1024), 1024)"
    (launch,) = planned_launches(parse_cuda(text + asked, "x.cu"))
    assert (launch.kernel, launch.grid, launch.block, launch.dynamic_shared) == ("scale", (2, 2), 64, 128)


def test_a_ring_leads_through_all_its_places():
    for asked, visited in [("ring(8)", range(8)), ("ring(2 * N + 3, N)", (0, 8))]:
        program = parse_cuda(f"#define N 8\n{KERNEL}{{}}\n// smemviz: k<<<1, 1>>>({asked})\n", "x.cu")
        (plan,) = planned_launches(program)
        ring = array_of(plan.arguments[0], Parameter("a", True, Element("uint32", 1, 4)), program.values)
        places = [0]
        while ring[places[-1]]:
            places.append(int(ring[places[-1]]))
        assert sorted(places) == list(visited)
        for wrong in ("ring(8, 9)", "ring(8, 0)", "ring(2, 2, 2)"):
            with pytest.raises(UnreadableError):
                array_of(parse(wrong), Parameter("a", True, Element("uint32", 1, 4)), {})


def test_a_launch_that_no_device_would_start_is_a_finding(tmp_path):
    path = written(tmp_path, f"{KERNEL}{{ a[0] = 1; }}\n// smemviz: k<<<1, 2048>>>(zeros(1))\n{LAUNCH}(zeros(1))\n")
    recording = smemviz.run(path)
    assert [(finding.kind, finding.line) for finding in recording.findings] == [("launch_refused", 2)]
    assert len(recording.launches) == 1


def test_every_access_has_its_line_and_column(tmp_path):
    """Copies of structures and casts too."""
    plain = (
        f"{KERNEL}{{\n    __shared__ int t[32][33];\n    int i = threadIdx.x;\n    t[i][0] = a[i]; t[i][1] = 2;\n"
        "    __syncthreads();\n    a[i] = t[0][i] + t[i][1];\n}\n"
    )
    cast = (
        "__global__ void k(float4 *a) {\n    __shared__ float4 t[32];\n    int i = threadIdx.x;\n"
        "    t[31 - i] = a[i];\n    __syncthreads();\n    reinterpret_cast<float *>(a)[i] = ((float2 *)t)[i].y;\n}\n"
    )
    for text, wanted in [
        (plain, {
            (4, 14, "a[i]", "a", "load"), (4, 4, "t[i][0]", "t", "store"), (4, 20, "t[i][1]", "t", "store"),
            (6, 11, "t[0][i]", "t", "load"), (6, 21, "t[i][1]", "t", "load"), (6, 4, "a[i]", "a", "store"),
        }),
        (cast, {
            (4, 16, "a[i]", "a", "load"), (4, 4, "t[31 - i]", "t", "store"),
            (6, 38, "((float2 *)t)[i].y", "t", "load"), (6, 4, "reinterpret_cast<float *>(a)[i]", "a", "store"),
        }),
    ]:  # fmt: skip
        launch = smemviz.run(written(tmp_path, f"{text}// smemviz: k<<<1, 32>>>(zeros(32))\n"))["k"]
        assert {(site.line, site.column, site.source, site.array, site.op) for site in launch.sites} == wanted


def test_kernels_are_launched_from_python_and_write_their_arrays():
    out, matrix = np.zeros((96, 64), np.float32), np.arange(64 * 96, dtype=np.float32).reshape(64, 96)
    kernel = smemviz.cuda_cpp(kernels_dir() / "transpose.cu")["padded_tile"]
    recording = kernel[(3, 2), (32, 32)](out, matrix)
    assert np.array_equal(out, matrix.T)
    assert recording.launches[0].summary()[0].requests == 192


def test_templates_are_asked_for_with_their_arguments():
    text = (
        "template <typename T, int N> __global__ void copy(T *out, const T *in) {\n    __shared__ T held[N];\n"
        "    held[threadIdx.x] = in[threadIdx.x];\n    __syncthreads();\n"
        "    out[threadIdx.x] = held[N - 1 - threadIdx.x];\n}\n"
    )
    out, given = np.zeros(32, np.float64), np.arange(32, dtype=np.float64)
    recording = smemviz.cuda_cpp(text)["copy<double, 32>"][1, 32](out, given)
    assert np.array_equal(out, given[::-1])
    (array,) = recording.launches[0].shared_arrays
    assert (array.name, array.shape, array.dtype) == ("held", (32,), "float64")
    with pytest.raises(KernelFileError, match="there is no kernel move; the file has: copy"):
        smemviz.cuda_cpp(text)["move"]


def test_launches_know_the_constants_of_headers_and_macros_that_are_given(tmp_path):
    """THREADS follows from a header that the first one includes; what is given comes before what is defined."""
    written(tmp_path, '#pragma once\n#include "warps.h"\n#define THREADS (32 * WARPS)\n', "sizes.h")
    written(tmp_path, "#ifndef WARPS\n#define WARPS 2\n#endif\n", "warps.h")
    text = f'#include "sizes.h"\n#define HALF (THREADS / 2)\n{KERNEL}{{ a[threadIdx.x] = MORE; }}\n'
    path = written(tmp_path, text + "// smemviz: k<<<MORE, THREADS>>>(zeros(HALF + THREADS * MORE))\n")
    program = replace(read_program(path), options=("-DMORE=3",))
    (launch,) = planned_launches(program)
    assert (launch.grid, launch.block) == (3, 64)
    (array,) = cuda_in_lockstep._arguments(launch, Entry(program, compile_program(program, ["k"]), "k"), program)
    assert array.shape == (32 + 64 * 3,)
    (launch,) = planned_launches(replace(program, options=("-DMORE", "-DWARPS=4")))
    assert (launch.grid, launch.block) == (1, 128)
    with pytest.raises(LaunchError, match="MORE is not read"):
        planned_launches(replace(program, options=()))


def test_headers_beside_the_file_are_read_and_have_sites_of_their_own(tmp_path):
    written(tmp_path, "#pragma once\n__device__ inline void put(int *t, int i) {\n    t[i] = i;\n}\n", "put.h")
    path = written(
        tmp_path,
        f'#include "put.h"\n#include <iostream>\n{KERNEL}{{ put(a, threadIdx.x); }}\n'
        "int main() { std::cout << 1; }\n// smemviz: k<<<1, 32>>>(zeros(32))\n",
    )
    recording = smemviz.run(path)
    (site,) = recording.launches[0].sites
    assert (Path(site.file).name, site.line, site.function, site.source) == ("put.h", 3, "put", "t[i]")
    assert "t[i] = i" in recording.text(site.file)


def test_a_recording_of_cuda_is_saved_and_loaded_with_its_view(tmp_path):
    recording = smemviz.run(kernels_dir() / "reverse.cu", view="compiled")
    recording.save(tmp_path / "reverse.smem.npz")
    loaded = smemviz.load(tmp_path / "reverse.smem.npz")
    assert loaded.view == "compiled"
    assert [launch.sites for launch in loaded.launches] == [launch.sites for launch in recording.launches]


def test_python_has_one_view():
    with pytest.raises(InputError, match="is Python, which has one view only"):
        smemviz.run(kernels_dir() / "square.py", view="compiled")


def test_without_a_gpu_lockstep_runs_a_file_and_the_gpu_engine_says_what_it_needs(monkeypatch):
    from smemviz.engines.gpu import device, python_on_gpu

    monkeypatch.setattr(python_on_gpu, "is_there", lambda: False)
    monkeypatch.setattr(device, "available", lambda: False)
    device.device.cache_clear()
    assert smemviz.run(kernels_dir() / "reverse.cu").engine == "lockstep"
    with pytest.raises(MissingError, match="no GPU here"):
        smemviz.run(kernels_dir() / "reverse.cu", engine="gpu")


@pytest.mark.exhaustive
def test_without_nvrtc_one_line_says_what_to_install():
    code = (
        "import sys\nfrom smemviz.frontends.cuda import nvrtc\nnvrtc._LIBRARIES = ()\n"
        "from smemviz.cli.main import main\nsys.exit(main(sys.argv[1:]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, "run", str(kernels_dir() / "square.cu")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 3
    (line,) = ran.stderr.strip().splitlines()
    assert installing("cpp") in line


def test_the_dashboard_shows_both_views_and_serves_no_stranger():
    path = kernels_dir() / "square.cu"
    library = Library([path])
    assert library.files == ("square.cu", "square.cu@compiled")
    query = {"kernel": "set_row_read_col_pad", "IPAD": "0"}
    for file in library.files:
        page = view_run(library, {"file": file, **query})
        assert str(page["headline.children"]).startswith("992 excess wavefronts, all on line ")
    refused = view_run(Library([path], local=False), {"file": "square.cu", **query})
    assert "only on your own machine" in str(refused["notices.html"])


def test_text_of_a_recording_is_never_compiled():
    program = read_program(kernels_dir() / "square.cu")
    with pytest.raises(KernelFileError, match="comes from elsewhere and is not compiled"):
        smemviz.run(replace(program, trusted=False))


def test_what_only_the_host_needs_of_its_library_is_left_out(tmp_path):
    text = (
        "#include <iterator>\n#include <ratio>\n#include <unordered_map>\n#include <iostream>\n"
        "using std::cout;\nusing std::accumulate, std::vector;\n"
        'extern "C"__global__ void k(uint *out, ushort small) { out[threadIdx.x] = small; }\n'
        "int main() { vector<int> all; cout << accumulate(all.begin(), all.end(), 0); }\n"
        "// smemviz: k<<<1, 32>>>(zeros(32), 3)\n"
    )
    (site,) = smemviz.run(written(tmp_path, text))["k"].sites
    assert (site.line, site.source, site.op) == (7, "out[threadIdx.x]", "store")


def test_shared_arrays_may_be_of_a_class_that_their_declaration_declares():
    text = """
    __global__ void k(float *out) {
        __shared__ union { float a[64]; int b[32]; } both, pair[2];
        both.a[threadIdx.x * 2] = 1; pair[1].b[threadIdx.x] = 2;
        __syncthreads();
        out[threadIdx.x] = both.a[threadIdx.x * 2] + pair[1].b[threadIdx.x];
    }
    """
    out = np.zeros(32, np.float32)
    recording = smemviz.cuda_cpp(text)["k"][1, 32](out)
    assert (out == 3).all()
    found = {array.name: array.nbytes for array in recording.launches[0].arrays if array.space == "shared"}
    assert found == {"both": 256, "pair": 512}


def test_what_only_the_host_declares_is_left_out_and_what_nvcc_knows_is_known():
    host = """
    #include <vector>
    #include "../common/timer.h"
    void fill(std::vector<float> &values, Timer timer);
    static void
    print(const std::string &text), log(int);
    const float two(2.0f);
    __device__ float twice(float value);
    __global__ void k(float *out) { out[threadIdx.x] = twice(threadIdx.x); }
    __device__ float twice(float value) { return two * value; }
    int main() { std::vector<float> values(32); fill(values, Timer()); }
    """
    library = "namespace std { __device__ int twice(int a) { return 2 * a; } }\nusing std::twice;\n"
    library += "__global__ void k(float *out) { out[threadIdx.x] = twice(threadIdx.x); }"
    known = "__global__ void k(float *out) { uint32_t n = 5; out[threadIdx.x] = n < INT_MAX ? M_PI : INFINITY; }"
    for text, wanted in [(host, 2 * np.arange(32)), (library, 2 * np.arange(32)), (known, np.full(32, np.pi))]:
        out = np.zeros(32, np.float32)
        smemviz.cuda_cpp(text)["k"][1, 32](out)
        assert np.array_equal(out, wanted.astype(np.float32)), text


@pytest.mark.exhaustive
def test_device_code_may_use_the_types_of_the_standard_library():
    text = """
    #include <limits>
    #include <type_traits>
    template <class T> __global__ void k(T *out) {
        using Wide = std::conditional_t<std::is_same<T, float>::value, double, T>;
        out[0] = sizeof(Wide);
        out[1] = std::numeric_limits<T>::digits;
    }
    """
    out = np.zeros(2, np.float32)
    smemviz.cuda_cpp(text)["k<float>"][1, 1](out)
    assert out.tolist() == [8, 24]


def test_shared_arrays_of_the_whole_file_may_stand_behind_a_kernel():
    text = """
    __global__ void first(int *out) { out[threadIdx.x] = 1; }
    __shared__ int held[32];
    __global__ void second(int *out) { held[threadIdx.x] = 2; __syncwarp(); out[threadIdx.x] = held[threadIdx.x ^ 1]; }
    """
    file, out = smemviz.cuda_cpp(text), np.zeros(32, np.int32)
    file["first"][1, 32](out)
    recording = file["second"][1, 32](out)
    assert (out == 2).all()
    assert [array.name for array in recording.launches[0].arrays if array.space == "shared"] == ["held"]


def test_templates_call_each_other_as_deep_as_they_are_written_and_none_itself():
    text = """
    template <int N> struct Sum { static __device__ int of(const int *a) { return a[N] + Sum<N - 1>::of(a); } };
    template <> struct Sum<0> { static __device__ int of(const int *a) { return a[0]; } };
    __global__ void deep(int *a) { a[threadIdx.x] = Sum<40>::of(a); }
    __device__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
    __global__ void recursive(int *a) { a[0] = factorial(a[0]); }
    """
    file, a = smemviz.cuda_cpp(text), np.ones(64, np.int32)
    file["deep"][1, 1](a)
    assert a[0] == 41
    with pytest.raises(UnsupportedError, match="calls itself, which is not executed"):
        file["recursive"][1, 1](a)


CONVERTED = """\
template <class T> struct SharedMemory {
    __device__ inline operator T *() { extern __shared__ int held[]; return (T *)held; }
    __device__ inline operator const T *() const { extern __shared__ int held[]; return (T *)held; }
};
template <typename T, unsigned int SIZE> __global__ void turn(const T *in, T *out) {
    T *data = SharedMemory<T>();
    data[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = data[SIZE - 1 - threadIdx.x];
}
// smemviz: turn<float, 32><<<1, 32, 128>>>(arange(32), zeros(32))
"""


def test_shared_memory_that_an_operator_declares_has_its_type(tmp_path):
    path = tmp_path / "turn.cu"
    path.write_text(CONVERTED)
    (launch,) = smemviz.run(path, engine="lockstep")
    (held,) = (array for array in launch.arrays if array.space == "shared")
    assert (held.name, held.shape, held.dtype) == ("held", (32,), "int32")
    assert [row.wavefronts for site, row in zip(launch.sites, launch.summary(), strict=True) if site.is_shared] == [
        1,
        1,
    ]
