"""Kernels that are launched again and again: what is known of them is kept, and changes nothing."""

import pytest
from helpers.lockstep_text import run_text
from helpers.same_launch import recorded

from smemviz.engines.lockstep import known
from smemviz.engines.lockstep.host import python_in_lockstep


@pytest.fixture
def found(monkeypatch):
    """The kernels whose sites are looked for."""
    kernels, find = [], known.find_sites
    monkeypatch.setattr(known, "find_sites", lambda kernel, values: kernels.append(kernel) or find(kernel, values))
    return kernels


def run_printing(text, capsys):
    """Return what was recorded of a file that prints its results, what was found, and what was printed."""
    launches, findings = run_text(text)
    return [recorded(launch) for launch in launches], findings, capsys.readouterr().out


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
    "one thread": """
        @cuda.jit
        def kernel(a, n):
            if cuda.threadIdx.x == 0:
                for k in range(n):
                    if a[k] > 3:
                        a[k] -= 1

        def main():
            a = np.arange(40)
            for n in (3, 40, 20):
                kernel[1, 32](a, n)
            print(a)
    """,
    "another block": """
        @cuda.jit
        def kernel(a):
            i = cuda.threadIdx.x
            for k in range(cuda.blockDim.x):
                a[i] += k

        def main():
            a = np.arange(40)
            for block in (3, 4, 3, 1):
                kernel[1, block](a)
            print(a)
    """,
    "numbers that are far apart": """
        @cuda.jit
        def kernel(a, by):
            i = cuda.threadIdx.x
            for k in range(7):
                for x in by:
                    a[i] = a[i] + k * x * i

        def main():
            a = np.arange(8)
            for by in (2, 2**61, 3, -(2**63)):
                kernel[1, 8](a, (by,))
            print(a)
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


def test_a_kernel_is_looked_through_once_for_the_types_of_its_arguments(found):
    run_text(SEVERAL["a loop of each thread"])
    assert len(found) == 1
