"""Small kernels that are launched thousands of times: nothing is lost, and every launch is as the first."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from helpers.lockstep_text import PLACE, body, kernel_of, launch_text, run_text

from smemviz.engines.launch_shape import configuration
from smemviz.engines.lockstep import launch
from smemviz.engines.lockstep.host import python_in_lockstep
from smemviz.engines.lockstep.memory.device_array import AddressSpace, to_device
from smemviz.engines.options import LaunchOptions
from smemviz.recordings.data import Requests, Totals

OFTEN = """
    @cuda.jit
    def kernel(a, n):
        i = cuda.grid(1)
        a[i] = float32(a[i]) * 0.5 + n

    def main():
        a = np.ones(4)
        for n in range({times}):
            kernel[{grid}, {block}](a, n)
"""


def as_bytes(launch):
    """Return all that was recorded of the requests of a launch, as bytes."""
    return [
        lot and (name, getattr(lot, name).tobytes())
        for kind, lot in ((Requests, launch.requests), (Totals, launch.totals))
        for name in kind.__dataclass_fields__
    ]


def test_each_grid_has_its_own_batch():
    text = """
        @cuda.jit
        def kernel(a):
            a[cuda.grid(1)] += cuda.blockDim.x + 10 * cuda.gridDim.x

        def main():
            a = np.zeros(8, np.int64)
            for grid, block in ((2, 2), (1, 4), (2, 4), (2, 2), (8, 1)):
                kernel[grid, block](a)
            print(a.tolist())
    """
    launches, _ = run_text(text)
    assert [(made.grid[0], made.block[0]) for made in launches] == [(2, 2), (1, 4), (2, 4), (2, 2), (8, 1)]
    addresses = [made.requests.addresses for made in launches]
    assert [int((one >= 0).sum()) for one in addresses] == [8, 8, 16, 8, 16]  # a load and a store of each thread


STEPS = {
    "all threads": "a[i] = s[(i + 1) % n] + x",
    "some threads": "if i % 3 == 1:\n    s[i] = x * i\ncuda.syncthreads()\na[i] = s[i]",
    "one element": "if i == 2:\n    s[0] = s[1]\na[0] += 0 * x",
    "nobody": "if i > 100:\n    a[i] = 1",
    "a loop": "for k in range(i % 4):\n    s[i] += a[k % n] * 0",
}


def test_the_only_warp_is_logged_as_it_is_beside_others():
    for lines in STEPS.values():
        for block in [1, 5, 32]:
            start = "s = cuda.shared.array(40, float32)\ni = cuda.threadIdx.x\nn = cuda.blockDim.x\ns[i] = i\nx = 0.5\n"
            text, given = f"{start}cuda.syncthreads()\n{lines}", {"parameters": "a", "block": block}
            both = []
            for grid in (1, 2):
                made, _ = body(text, np.ones(40), grid=grid, **given)
                first = made.requests.select(made.requests.block == 0)
                both.append([getattr(first, name).tobytes() for name in Requests.__dataclass_fields__])
                cut, _ = body(text, np.ones(40), grid=grid, log_bytes=2000, **given)
                assert cut.summary() == made.summary()
            assert both[0] == both[1]


def test_an_index_inside_of_one_array_may_be_outside_of_another():
    text = """
        @cuda.jit
        def kernel(a, b):
            i = cuda.threadIdx.x
            a[i] = 1
            b[i] = a[i]
    """
    _, findings = launch_text(text, np.zeros(8), np.zeros(5), block=8)
    assert [(finding.kind, len(finding.threads)) for finding in findings] == [("out_of_bounds", 3)]


def test_the_file_of_a_kernel_is_recorded():
    launches, _ = run_text(OFTEN.format(times=1, grid=1, block=1))
    assert [made.file for made in launches] == ["kernels/mine.py"]


@pytest.mark.parametrize(("turns", "limit"), [(30, 3000), (200, 20_000)])
def test_a_full_log_has_the_same_requests_in_every_launch(turns, limit):
    kernel = kernel_of(f"""
        @cuda.jit
        def kernel(a):
            t = cuda.threadIdx.x
            for k in range({turns}):
                a[t] += k
            for k in range({turns}):
                a[t] -= k
    """)
    arrays, shape = [to_device(AddressSpace(), np.zeros(33))], configuration(PLACE, (1, 33, 0, 0))

    first, *others = [
        as_bytes(launch(kernel, shape, arrays, PLACE, LaunchOptions(log_bytes=limit))[0]) for _ in range(4)
    ]

    assert all(other == first for other in others)


def test_several_threads_launch_a_kernel_at_once():
    kernel = kernel_of("""
        @cuda.jit
        def kernel(a, n):
            t = cuda.threadIdx.x
            for k in range(n):
                a[t] += k
    """)
    shape, interval = configuration(PLACE, (1, 40, 0, 0)), sys.getswitchinterval()
    begun = Barrier(4)

    def launched(_):
        array = to_device(AddressSpace(), np.zeros(40))
        begun.wait()
        made = [as_bytes(launch(kernel, shape, [array, 50], PLACE)[0]) for _ in range(10)]
        return made, array.copy_to_host().tolist()

    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as threads:
            results = list(threads.map(launched, range(4)))
    finally:
        sys.setswitchinterval(interval)

    assert all(made == results[0][0][:1] * 10 for made, _ in results)
    assert [values for _, values in results] == [[10 * sum(range(50))] * 40] * 4


def run_printing(text, capsys):
    """Return what was recorded of a file that prints its results, what was found, and what was printed."""
    launches, findings = run_text(text)
    return [as_bytes(launch) for launch in launches], findings, capsys.readouterr().out


def check_as_if_new(text, capsys, monkeypatch):
    """Compare what the launches of a file do with what they do where each is the first one."""
    kept = run_printing(text, capsys)
    with monkeypatch.context() as patch:
        patch.setattr(python_in_lockstep, "Definitions", lambda find: find)
        assert run_printing(text, capsys) == kept
    assert kept[0]
    assert not kept[1]
    return kept


SEVERAL = {
    "a loop of each thread": """
        @cuda.jit
        def kernel(a, out, n):
            i = cuda.threadIdx.x
            total = 0
            for k in range(n):
                total += a[k] * i
            out[i] += total

        def main():
            out = np.arange(8)
            for n in (3, 8, 0, 5):
                kernel[1, 8](np.arange(8), out, n)
            print(out)
    """,
    "functions with arrays of their own": """
        @cuda.jit(device=True)
        def turned(a, k):
            own = cuda.local.array(4, int32)
            for m in range(4):
                own[m] += a[(k + m) % 8]
            x = own[0]
            if k > 2:
                x = own[3] + 0.5
            return x

        @cuda.jit
        def kernel(a, out, n):
            i = cuda.threadIdx.x
            total = 0
            for k in range(n):
                total += turned(a, k + i)
            out[i] = total

        def main():
            out = np.zeros(64)
            for threads, n in ((3, 5), (3, 7), (33, 4), (3, 20)):
                kernel[1, threads](np.arange(8), out, n)
                print(out)
    """,
    "arguments of other types": """
        @cuda.jit
        def kernel(a, x):
            i = cuda.threadIdx.x
            for k in range(5):
                a[i] += x * k
                x = x + a[i]

        def main():
            for dtype in (np.int32, np.float32, np.int32):
                a = np.arange(8, dtype=dtype)
                for x in (1, 1.5, np.float32(0.1), np.int8(100)):
                    kernel[1, 8](a, x)
                print(a)
    """,
    "a variable of two types": """
        @cuda.jit
        def kernel(a, n):
            i = cuda.threadIdx.x
            x = 1
            for k in range(n):
                if k > 2:
                    x = x + 0.5
                a[i] = a[i] + x

        def main():
            a = np.zeros(8)
            for n in (2, 9, 5):
                kernel[1, 8](a, n)
            print(a)
    """,
    "several kernels of one text": """
        @cuda.jit
        def none(a):
            pass

        def made(n):
            @cuda.jit
            def kernel(a):
                tile = cuda.shared.array(n, int32)
                i = cuda.threadIdx.x
                tile[i % n] = i
                cuda.syncthreads()
                a[i] = tile[i % n]
            return kernel

        def main():
            a = np.zeros(32, np.int32)
            for n in (32, 32, 64):
                made(n)[1, 32](a)
                print(a)
    """,
}


@pytest.mark.parametrize("text", SEVERAL.values(), ids=SEVERAL)
def test_what_is_kept_from_one_launch_to_the_next_changes_nothing(text, capsys, monkeypatch):
    check_as_if_new(text, capsys, monkeypatch)
