"""The host part of a kernel file in lockstep: what ``main()`` finds under ``numba.cuda``."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers.lockstep_text import run_text

from smemviz.errors import SmemvizError

MAIN = """
@cuda.jit
def twice(data, n):
    i = cuda.grid(1)
    if i < n:
        data[i] *= 2
def main():
"""


def run_main(*lines):
    return run_text(MAIN + "".join(f"    {line}\n" for line in lines))


def test_main_runs():
    for lines in [
        ("a = np.arange(5.0)", "twice[1, 32](a, 5)", "assert a.tolist() == [0, 2, 4, 6, 8]"),
        ("a = np.arange(5.0)", "d = cuda.to_device(a)", "twice[1, 32](d, 5)", "assert a[1] == 1", "assert d[1] == 2"),
        ("d = cuda.to_device(np.arange(4.0))", "h = np.zeros(4)", "d.copy_to_host(h)", "assert h[3] == 3"),
        ("d = cuda.device_array((2, 3), np.int8)", "assert d.shape == (2, 3) and d.dtype == np.int8 and d.nbytes == 6"),
        ("d = cuda.device_array_like(np.zeros((2, 3), order='F'))", "assert d.strides == (8, 16) and len(d) == 2"),
        ("d = cuda.to_device(np.zeros(4))", "d.copy_to_device(np.ones(4))", "assert d.copy_to_host().sum() == 4"),
        (
            "d = cuda.to_device(np.zeros(4))",
            "d[1:3] = 5",
            "d[0] = 1",
            "assert d.copy_to_host().tolist() == [1, 5, 5, 0]",
        ),
        (
            "d = cuda.to_device(np.arange(6.0))",
            "twice[1, 3](d[3:], 3)",
            "assert d[2:5].copy_to_host().tolist() == [2, 6, 8]",
        ),
        (
            "d = cuda.to_device(np.arange(6.0))",
            "assert d.reshape(2, 3).T.shape == (3, 2)",
            "assert d.view(np.int64).size == 6",
        ),
        ("d = cuda.to_device(np.arange(6.0)).reshape((3, 2))", "assert d.ravel().ndim == 1", "assert d[1, 1] == 3"),
        (
            "a = cuda.pinned_array(3)",
            "b = cuda.mapped_array(3)",
            "c = cuda.managed_array(3)",
            "assert a.shape == c.shape",
        ),
        ("assert cuda.is_cuda_array(cuda.device_array(3))", "assert not cuda.is_cuda_array(np.zeros(3))"),
        ("with cuda.pinned(np.zeros(3)):", "    cuda.synchronize()"),
        (
            "a, b, c = np.ones(3), np.ones(3), np.ones(3)",
            "twice[1, 32](cuda.In(a), 3)",
            "twice[1, 32](cuda.InOut(b), 3)",
            "twice[1, 32](cuda.Out(c), 2)",
            "assert a.tolist() == [1, 1, 1] and b.tolist() == [2, 2, 2] and c.tolist() == [0, 0, 0]",
        ),
        (
            "a = np.ones(3)",
            "with cuda.mapped(a) as d, cuda.profiling():",
            "    twice[1, 32](d, 3)",
            "assert a.tolist() == [2, 2, 2]",
        ),
        (
            "from numba.cuda.cudadrv.devicearray import DeviceNDArray, is_cuda_ndarray",
            "d = cuda.to_device(np.ones((2, 3)).T)",
            "assert isinstance(d, DeviceNDArray) and is_cuda_ndarray(d)",
            "assert d.__cuda_array_interface__['strides'] == (8, 24)",
        ),
        ("assert twice.compile('void(float64[:], int64)') is twice", "a = np.ones(3)", "twice[1, 32](a, 3)"),
        ("import asyncio", "s = cuda.stream()", "assert asyncio.run(s.async_done()) is s"),
        ("from numba.cuda import compiler, size_t, types", "cuda.current_context().deallocations.clear()"),
        ("s = cuda.stream()", "a = np.ones(3)", "twice[1, 32, s](a, 3)", "s.synchronize()", "assert a.sum() == 6"),
        ("with cuda.stream().auto_synchronize() as s:", "    cuda.to_device(np.ones(2), stream=s)"),
        ("a, b = cuda.event(), cuda.event()", "a.record()", "b.record()", "b.synchronize()", "assert b.query()"),
        ("a = np.ones(300)", "twice.forall(300)(a, 300)", "assert a.sum() == 600"),
        ("a = np.ones(3)", "twice.configure(1, 32)(a, 3)", "assert a.sum() == 6"),
        (
            "d = cuda.to_device(np.broadcast_to(np.ones((2, 1)), (3, 2, 4)))",
            "assert d.strides == (0, 8, 0) and d[2, 1, 3] == 1",
        ),
        ("a = np.ones(40)", "twice[(2, 1), (np.int32(20),)](a, 40)", "assert a.sum() == 80"),
        ("assert cuda.is_available() and len(cuda.gpus) == 1",),
        ("with cuda.gpus[0] as d:", "    assert d.compute_capability == (9, 0)"),
        ("assert cuda.get_current_device().WARP_SIZE == 32", "cuda.select_device(0)", "cuda.close()"),
        ("from numba.cuda import threadIdx, shared",),
        ("import numba.cuda", "assert numba.cuda.is_available()"),
    ]:
        with ThreadPoolExecutor(1) as thread:  # in this one a browser's event loop may run
            thread.submit(run_main, *lines).result()


def test_elapsed_time_is_no_number():
    run_main(
        "a, b = cuda.event(), cuda.event()",
        "assert math.isnan(cuda.event_elapsed_time(a, b))",
        "assert math.isnan(a.elapsed_time(b))",
    )


def test_every_form_of_the_decorator_makes_a_kernel():
    for decorator in [
        "cuda.jit",
        "cuda.jit()",
        "cuda.jit(fastmath=True)",
        "cuda.jit('void(float64[:], int32)')",
        "cuda.jit(['void(float32[:], int32)', 'void(float64[:], int32)'])",
        "cuda.jit('(float64[:], int64)', lineinfo=True)",
        "cuda.jit(numba.void(numba.float64[:], numba.int32))",
        "numba.cuda.jit",
        "jit",
    ]:
        (launch,), _ = run_text(
            f"""
        import numba
        from numba.cuda import jit
        @{decorator}
        def kernel(data, n):
            data[cuda.threadIdx.x] = n
        def main():
            data = cuda.to_device(np.zeros(32))
            kernel[1, 32](data, 3)
            assert data.copy_to_host().sum() == 96
        """
        )

        assert launch.kernel == "kernel"


LEFT = {  # kernels, and what main() checks of what they leave
    "numbers are cast to a signature": """
        @cuda.jit("void(float64[:], int8, float32)")
        def kernel(data, n, x):
            data[0] = n
            data[1] = x
        def main():
            data = cuda.to_device(np.zeros(2))
            kernel[1, 1](data, 300, 0.1)
            assert data.copy_to_host().tolist() == [44, float(np.float32(0.1))]
        """,
    "a kernel closes over values": """
        @cuda.jit
        def unused(out):
            out[0] = 1
        def make(n, scale):
            @cuda.jit
            def kernel(out):
                tile = cuda.shared.array(n, int32)
                tile[cuda.threadIdx.x] = scale
                out[cuda.threadIdx.x] = tile[n - 1 - cuda.threadIdx.x]
            return kernel
        def main():
            out = np.zeros(8)
            make(8, 3)[1, 8](out)
            assert out.sum() == 24
        """,
    "an array in Fortran's order": """
        @cuda.jit
        def kernel(out):
            x, y = cuda.grid(2)
            out[x, y] = 10 * x + y
        def main():
            out = np.zeros((4, 8), order="F")
            kernel[1, (4, 8)](out)
            assert np.array_equal(out, np.add.outer(10 * np.arange(4), np.arange(8)))
        """,
    "an array passed twice": """
        @cuda.jit
        def kernel(a, b):
            a[0] = 1
            b[0] += 1
        def main():
            data = np.zeros(1)
            kernel[1, 1](data, data)
            assert data[0] == 2
        """,
}


def test_kernels_leave_in_arrays_what_numba_leaves():
    for text in LEFT.values():
        assert len(run_text(text)[0]) == 1


def test_names_may_be_imported_one_by_one():
    (launch,), _ = run_text(
        """
        from numba.cuda import threadIdx, shared, syncthreads, grid, atomic
        from math import sqrt as root
        @cuda.jit
        def kernel(out):
            tile = shared.array(32, int32)
            tile[threadIdx.x] = grid(1)
            syncthreads()
            atomic.add(out, 0, root(4.0))
        def main():
            out = np.zeros(1)
            kernel[1, 32](out)
            assert out[0] == 64
        """
    )

    assert [site.op for site in launch.sites] == ["store", "reduce_add"]


def test_two_launches_of_one_array_see_the_same_address():
    launches, _ = run_main(
        "d, e = cuda.to_device(np.ones(64)), cuda.to_device(np.ones(64))",
        "twice[1, 32](d, 5)",
        "twice[1, 32](e, 5)",
        "twice[1, 32](d[32:], 5)",
    )

    one, other, part = (launch.arrays[0].address for launch in launches)
    assert one % 256 == other % 256 == 0
    assert other >= one + 512
    assert part == one + 256


def test_lockstep_never_imports_cuda():
    text = (
        "import sys; import smemviz.engines.lockstep as lockstep\n"
        "from smemviz.frontends.reading import read_program\n"
        "from smemviz.paths import kernels_dir\n"
        "lockstep.run(read_program(kernels_dir() / 'square.py'))\n"
        "found = [name for name in sys.modules if name.startswith(('numba.cuda', 'numba_cuda', 'cuda'))]\n"
        "assert not found, found\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)


def refused(*lines):
    with pytest.raises(SmemvizError) as caught:
        run_main(*lines)
    return str(caught.value)


def test_a_kernel_that_stores_in_a_read_only_array_is_refused():
    lines = ("a = np.ones(4)", "a.flags.writeable = False", "twice[1, 32](a, 4)")
    assert "data[i] stores in data, which is read-only, in Numba too" in refused(*lines)


@pytest.mark.parametrize("name", ["compile", "compile_ptx", "compile_for_current_device"])
def test_what_compiles_asks_for_a_gpu_to_compile_for(name):
    wanted = (
        f"cuda.{name} asks which GPU there is; write cuda.{name.removesuffix('_for_current_device')}(..., cc=(9, 0))"
    )
    assert refused(f"cuda.{name}(twice.py_func, (np.float64,))").endswith(wanted)
