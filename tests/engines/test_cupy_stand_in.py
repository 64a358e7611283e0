"""The part of CuPy that scripts with raw kernels get where there is no GPU."""

from textwrap import dedent

import pytest
from helpers.accepted import script

import smemviz
from smemviz.errors import KernelFileError, LaunchError, MissingError, UnsupportedError
from smemviz.frontends.cuda import nvrtc

HEAD = '''\
import numpy as np
import cupy as cp

code = r"""
struct Pair { float a; int b; };
extern "C" {
__global__ void twice(float *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] *= 2; }
__global__ void add(const float *a, const float *b, float *out) {
    int i = threadIdx.x;
    out[i] = a[i] + b[i];
}
__global__ void with_pair(Pair pair, double2 two, float *out) { out[threadIdx.x] = pair.a * pair.b + two.y; }
__global__ void dynamic(float *out) {
    extern __shared__ float held[];
    held[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = held[31 - threadIdx.x];
}
}
"""
module = cp.RawModule(code=code)
twice, add, dynamic = (module.get_function(name) for name in ("twice", "add", "dynamic"))
a = cp.arange(32, dtype=cp.float32)
'''


def recorded(folder, body):
    recording = script(folder, HEAD + dedent(body))
    assert recording.findings == ()
    return recording


def test_addresses_in_arrays_are_those_of_arrays_and_stay(tmp_path):
    recording = recorded(
        tmp_path,
        """\
        code = r'''
        struct Group { const float *from; float *to; int n; };
        extern "C" __global__ void copies(float **rows, Group *groups) {
            Group one = groups[blockIdx.x];
            if (threadIdx.x < one.n) one.to[threadIdx.x] = rows[blockIdx.x][threadIdx.x] + one.from[threadIdx.x];
        }
        '''
        rows = cp.arange(64, dtype=cp.float32).reshape(2, 32)
        out = cp.zeros(40, dtype=cp.float32)
        table = cp.array([row.data.ptr for row in rows], dtype=cp.uint64)
        groups = np.zeros(2, [("from", np.uint64), ("to", np.uint64), ("n", np.int32), ("", np.int32)])
        groups["from"], groups["n"] = a.data.ptr, (32, 5)
        groups["to"] = out.data.ptr, out[32:].data.ptr
        cp.RawKernel(code, "copies")((2,), (32,), (table, cp.asarray(groups.view(np.uint8))))
        assert (out[:32] == 2 * a).all() and (out[32:37] == 2 * a[:5] + 32).all() and not out[37:].any()
        assert int(table[1]) == rows.data.ptr + 128
        """,
    )
    names = {array.name for array in recording.launches[0].arrays}
    assert names == {"rows", "groups", "rows[0]", "groups[0]", "groups[8]"}


def test_what_numpy_has_cupy_has(tmp_path):
    recorded(
        tmp_path,
        """\
        twice((1,), (32,), (a, 32))
        matrix = cp.asarray(np.eye(4, dtype=np.float32)) * 2
        assert float(cp.linalg.norm(matrix)) == 4.0 and cp.add.reduce(a).shape == ()
        assert type(a.sum()) is type(a[3]) is type(cp.sqrt(a)) is cp.ndarray and float(a.sum().get()) == 992
        a[3] = 1
        assert a[3] == 1 and f"{a[3]:.1f}" == "1.0" and int(cp.argmax(a)) == 31
        cp.testing.assert_allclose(cp.fft.ifft(cp.fft.fft(a)).real, a, rtol=1e-5)
        draw = cp.random.default_rng(7)
        assert draw.random(3, dtype=cp.float32).dtype == cp.float32
        assert cp.random.normal(0, 1, (2, 3), cp.float32).dtype == cp.float32
        assert cp.random.RandomState(1).uniform(0, 1, 5, dtype=cp.float32).dtype == cp.float32
        assert cp.random.randint(0, 9, 5).dtype == int and cp.get_array_module(a) is cp
        """,
    )


def test_devices_pools_streams_and_times(tmp_path):
    recorded(
        tmp_path,
        """\
        import math
        from cupyx.profiler import benchmark, time_range
        import cupyx
        device = cp.cuda.Device()
        assert device.compute_capability == "90" and device.attributes["MultiProcessorCount"] == 132
        assert cp.cuda.runtime.getDeviceProperties(0)["sharedMemPerBlock"] == 48 * 1024
        start, stop = cp.cuda.Event(), cp.cuda.stream.Event()
        with cp.cuda.Stream(non_blocking=True) as stream, time_range("once"):
            start.record(stream)
            twice((1,), (32,), (a, 32))
            stop.record()
        stream.wait_event(stop)
        assert math.isnan(cp.cuda.get_elapsed_time(start, stop))
        assert "no time is measured" in str(benchmark(lambda: twice((1,), (32,), (a, 32)), (), n_repeat=1000))
        cp.get_default_memory_pool().free_all_blocks()
        place = cp.cuda.alloc(128)
        other = cp.ndarray((32,), cp.float32, memptr=place)
        place.copy_from_device(a.data, 128)
        twice((1,), (32,), (place, np.int32(32)))
        assert (other == 2 * a).all() and cupyx.zeros_pinned((2,)).shape == (2,)
        @cp.memoize(for_each_device=True)
        def shape(n):
            return (n,)
        assert shape(3) is shape(3)
        """,
    )


def test_structs_are_passed_by_value_and_addresses_for_arrays(tmp_path):
    recording = recorded(
        tmp_path,
        """\
        pair = np.array([(1.5, 4)], np.dtype([("a", np.float32), ("b", np.int32)]))
        two = np.array([1.0, 3.0]).view(np.dtype([("x", np.float64), ("y", np.float64)]))
        kernel = module.get_function("with_pair")
        kernel((1,), (32,), (pair[0], two, a))
        assert (a == 9).all()
        part = a[8:]
        twice((1,), (32,), (part.data.ptr, 24))
        twice((0,), (32, 1, 1), (a.data, 8))
        assert (a == 18).all()
        add((1,), (32,), (a, a, a))
        assert (a == 36).all()
        """,
    )
    assert len(recording.launches) == 4


@pytest.mark.exhaustive
def test_complex_numbers(tmp_path):
    recorded(
        tmp_path,
        '''\
        kernel = cp.RawKernel(r"""
        #include <cupy/complex.cuh>
        extern "C" __global__ void turn(complex<float> *a, complex<float> by) {
            a[threadIdx.x] *= by * thrust::conj(by);
        }
        """, "turn", options=("-std=c++11",))
        numbers = cp.full(32, 1j, dtype=cp.complex64)
        kernel((1,), (32,), (numbers, cp.complex64(1 + 1j)))
        assert (numbers == 2j).all()
        numbers = cp.arange(4, dtype=cp.complex64) * 1j
        assert (cp.ElementwiseKernel("T x", "T y", "y = x * x", "squares")(numbers) == numbers * numbers).all()
        ''',
    )


def test_variables_of_a_module_last_from_launch_to_launch(tmp_path):
    recorded(
        tmp_path,
        """\
        import cupy as cp
        import numpy as np
        code = r'''
        __constant__ float scale;
        extern "C" __global__ void grow(float *a) { static __device__ int calls; a[threadIdx.x] *= scale + calls++; }
        '''
        module = cp.RawModule(code=code)
        place = module.get_global("scale")
        cp.ndarray(1, cp.float32, place)[:] = 2
        a = cp.ones(1, cp.float32)
        for kernel in (module.get_function("grow"), cp.RawKernel(code, "grow")):  # one module, for CuPy keeps it
            kernel((1,), (1,), (a,))
        assert a[0] == 6
        """,
    )


def test_shared_memory_above_48_kib_is_asked_for(tmp_path):
    with pytest.raises(LaunchError, match=r"65536 bytes of dynamic shared memory fails; write dynamic\.max_dynamic"):
        recorded(tmp_path, "dynamic((1,), (32,), (a,), shared_mem=65536)")
    recorded(
        tmp_path,
        """\
        dynamic.max_dynamic_shared_size_bytes = 65536
        dynamic((1,), (32,), (a,), shared_mem=65536)
        assert (a == cp.arange(31, -1, -1)).all()
        """,
    )


def test_what_is_missing_or_does_not_fit_is_one_line_at_its_place(tmp_path):
    stride, elementwise = "x has a negative stride; copy it", "cp.ElementwiseKernel('T x, T y', 'T z', 'z = x', 'same')"
    for error, body, what in [
        (UnsupportedError, "cp.ReductionKernel('T x', 'T y', 'x', 'a + b', 'y = a', '0', 'total')(a[::-1])", stride),
        (UnsupportedError, "cp.ElementwiseKernel('T x', 'T y', 'y = x', 'same')(a[::-1])", stride),
        (UnsupportedError, "cp.cuda.texture.TextureObject()",
            "cupy.cuda.texture is not known without a GPU; run it on one"),
        (UnsupportedError, "twice.num_regs", "cupy.RawKernel.num_regs is not known without a GPU; run it on one"),
        (UnsupportedError, "module.num_regs", "cupy.RawModule.num_regs is not known without a GPU"),
        (UnsupportedError, "cp.cuda.Stream().begin_capture()",
            "cupy.cuda.Stream.begin_capture is not known without a GPU"),
        (KernelFileError, f"{elementwise}(a)", "Wrong number of arguments for 'same'"),
        (KernelFileError, f"{elementwise}(a, cp.arange(32))", "Type is mismatched. y int64 float32"),
        (KernelFileError, f"{elementwise}(a, a, cp.zeros(1, cp.float32))", r"Out shape is mismatched: \(1,\) \(32,\)"),
        (KernelFileError, f"{elementwise}(1.0, 2.0)", "Loop size is undecided"),
        (KernelFileError, f"{elementwise}(a, a, size=3)", 'Specified "size" can be used only if all'),
        (KernelFileError, "cp.datetime64", "AttributeError: module 'cupy' has no attribute 'datetime64'"),
        (KernelFileError, "import cupyx.scipy.ndimage", "cupyx.scipy is not known without a GPU; run it on one"),
        (KernelFileError, "module.get_function('ad')",
            "there is no kernel ad; did you mean add. The file has: twice, add, with_pair"),
        (KernelFileError, "cp.RawKernel(code, 'mine')((1,), (1,), (a,))",
            "there is no kernel mine; the file has: twice, add, with_p"),
        (LaunchError, "twice((1,), (32,), (np.zeros(32), 32))",
            r"of shape \(32,\), is not an argument; move it with cupy.asarray"),
        (LaunchError, "twice((1,), (1,), (np.zeros(1), 1))",
            r"a is a pointer, and CuPy passes .* by value; write cupy.asarray"),
        (LaunchError, "twice((1,), (32,), (12345, 32))", "a is a pointer, and there is no array at 0x3039"),
        (LaunchError, "module.get_function('with_pair')((1,), (1,), (np.float32(1), 2.0, a))", "pair takes 8 bytes"),
    ]:  # fmt: skip
        with pytest.raises(error, match=what) as failed:
            recorded(tmp_path, body)
        assert failed.value.line == len(HEAD.splitlines()) + 1


def test_what_is_fused_runs_and_one_line_says_that_it_is_not_recorded(tmp_path):
    for made_by in ["fuse()", "fuse", "vectorize"]:
        text = f"@cp.{made_by}\ndef plus(x, y):\n    return x + y\n\n"
        calls = "for _ in range(2):\n    assert (plus(a, 1).get() == a.get() + 1).all()\n"
        (tmp_path / "script.py").write_text(HEAD + text + calls)
        (finding,) = smemviz.run(tmp_path / "script.py", engine="lockstep").findings
        assert finding.kernel == "plus"
        assert finding.line == len(HEAD.splitlines()) + 6
        name = made_by.removesuffix("()")
        assert f"kernels of cupy.{name} are not recorded; write a cupy.RawKernel" in finding.message


def test_kernels_of_cupy_s_jit_are_refused_where_they_are_launched(tmp_path):
    for launch in ["fill((1,), (1,), (a,))", "fill[1, 1](a)"]:
        text = "from cupyx import jit\n@jit.rawkernel()\ndef fill(x):\n    x[0] = 1\n\n"
        with pytest.raises(UnsupportedError, match=r"kernels of cupyx\.jit are not recorded; write a cupy\.RawKernel"):
            recorded(tmp_path, f"{text}{launch}\n")


# --- elementwise kernels

ELEMENTWISE = """\
square = cp.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_difference")
"""


def test_an_elementwise_kernel_is_recorded_with_the_text_that_cupy_writes(tmp_path):
    recording = recorded(tmp_path, ELEMENTWISE + "assert (square(a, a + 2) == 4).all()")
    (launch,) = recording.launches
    assert (launch.kernel, launch.grid, launch.block) == ("squared_difference", (1, 1, 1), (128, 1, 1))
    assert [(site.source, site.op) for site in launch.sites] == [
        ("_raw_x[i]", "load"), ("_raw_y[i]", "load"), ("z", "store")
    ]  # fmt: skip
    assert [row.requests for row in launch.summary()] == [1, 1, 1]
    assert "        z = (x - y) * (x - y);\n" in recording.source_of(launch)


def test_elementwise_kernels_broadcast_and_follow_strides(tmp_path):
    body = """\
m, row = cp.arange(12, dtype=cp.float32).reshape(3, 4), cp.arange(4, dtype=cp.float32)
column = row[:3, None].copy()
for x, y in ((m, row), (m, 5), (m.T, column.T), (m[:, ::2], row[1:3]), (column, row), (a[3].copy(), a), (m, m)):
    assert square(x, y).shape == (x - y).shape and (square(x, y) == (x - y) ** 2).all()
out = cp.zeros((3, 4), cp.float32)
assert square(m, 1, out) is out and (out == (m - 1) ** 2).all()
into = cp.zeros((3, 4), cp.float32)
square(m[:, ::2], 1, into[:, 1::2])
assert (into[:, 1::2] == (m[:, ::2] - 1) ** 2).all() and (into[:, ::2] == 0).all()
assert square(a[:0], a[:0]).shape == (0,)
"""
    strided = recorded(tmp_path, ELEMENTWISE + body).launches[6]
    assert [site.source for site in strided.sites[:2]] == ["_raw_x[i / 2 % 3 * 4 + i % 2 * 2]", "_raw_y[i % 2]"]
    addresses = strided.requests.addresses[0][:6]
    assert (addresses - addresses[0]).tolist() == [0, 8, 16, 24, 32, 40]


def test_types_raw_arguments_and_sizes_of_elementwise_kernels(tmp_path):
    recorded(
        tmp_path,
        """\
        twice = cp.ElementwiseKernel("T x, T y", "T z", "T t = 2 * x; z = t + y", "twice_and")
        assert twice(cp.arange(5), 3).dtype == int and (twice(a, a) == 3 * a).all()
        back = cp.ElementwiseKernel("T x, raw T y", "T z", "z = x + y[_ind.size() - i - 1]", "and_reversed")
        assert (back(a, a) == 31).all()
        turned = cp.ElementwiseKernel("raw T y", "raw T z", "z[i] = y[y.shape()[0] - 1 - i]", "turned")
        z = cp.zeros(32, cp.float32)
        turned(a, z, size=32)
        assert (z == a[::-1]).all()
        half_of = "template <typename T> __device__ T half_of(T x) { return x / 2; }"
        pair = cp.ElementwiseKernel("T x", "T y, bool big", "y = half_of(x); big = x > 3", "halved", preamble=half_of)
        y, big = pair(a)
        assert (y == a / 2).all() and big.dtype == bool and (big == (a > 3)).all()
        halves = cp.ElementwiseKernel("float16 x", "float16 y", "y = x + x", "halves")
        assert (halves(cp.arange(4, dtype=cp.float16)) == 2 * cp.arange(4)).all()
        up = cp.ElementwiseKernel("", "T x", "x += by", "up", loop_prep="T by = 3", no_return=True)
        assert up(a) is None and a[0] == 3
        """,
    )


def test_without_a_compiler_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(nvrtc, "_library_path", lambda: None)
    with pytest.raises(MissingError, match="needs NVRTC, which is not installed: pip install"):
        recorded(tmp_path, "twice((1,), (32,), (a, 33 - 1))  # compiled nowhere yet\nprint('x')")
