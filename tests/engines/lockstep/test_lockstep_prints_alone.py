"""Lines that are printed in loops which threads run one after the other."""

import numpy as np
import pytest
from helpers.alone_both_ways import both_ways
from helpers.lockstep_text import body

from smemviz.engines.limits import Limits
from smemviz.engines.lockstep.python.functions.output import MOST_LINES
from smemviz.engines.lockstep.python.one_thread.native import compiled

pytestmark = pytest.mark.usefixtures("way")


def printed_both_ways(monkeypatch, capsys, text, *, threads=32, before="", n=40, **options):
    """Return what is printed by a body, which is the same in both ways, and how many loops ran alone."""
    printed = []

    def launch():
        out, values = np.zeros((threads, 2)), np.arange(64, dtype=np.float32) / 3
        try:
            left = body(text, out, values, n, parameters="out, values, n", block=threads, before=before, **options)
        finally:
            printed.append(capsys.readouterr().out)
        return left, out

    alone, interpreted, ran = both_ways(monkeypatch, launch)
    assert alone == interpreted
    assert printed[0] == printed[1]
    return printed[0].splitlines(), ran


ONE = {
    "at the end": """
        i = cuda.threadIdx.x
        total = 0
        for k in range(n):
            total += k * i
            if k == n - 1 and i == 3:
                print("last", k, total, i < 4, "of", values[k])
        out[i, 0] = total
    """,
    "numbers of all types": """
        i = cuda.threadIdx.x
        x, y, z = uint8(i), float32(0.1), uint64(0)
        for k in range(n):
            x = uint8(x * 3 + k)
            y = y * values[k % 7] - float32(1)
            z -= uint64(1)
            if i == 5 and k % 9 == 2:
                print(x, y, z, k / 3, int8(x), -x, y > 0, z * uint64(3))
                print()
        out[i, 0] = x
        out[i, 1] = y
    """,
    "in turns of their own": """
        i = cuda.threadIdx.x
        for k in range(i % 5 * 8):
            out[i, k % 2] += values[k]
            m = 0
            while m < k:
                m += 1
                if m == 20 and i == 9:
                    print("far", k, out[i, 0])
    """,
    "in a function": """
        i = cuda.threadIdx.x
        for k in range(n):
            out[i, 0] += told(i, k)
    """,
    "in one thread": """
        i = cuda.threadIdx.x
        if i == 2:
            for k in range(n):
                out[i, 0] += values[k]
                print(k, out[i, 0])
    """,
}
TOLD = """
    @cuda.jit(device=True)
    def told(i, k):
        if i == 1 and k > 30:
            print("told", k)
        return k + i

"""


@pytest.mark.parametrize("text", ONE.values(), ids=ONE)
def test_what_one_thread_prints_is_printed_in_its_order(text, way, monkeypatch, capsys):
    made, native_of = [], compiled.native_of
    monkeypatch.setattr(compiled, "native_of", lambda *given: made.append(native_of(*given)) or made[-1])
    lines, ran = printed_both_ways(monkeypatch, capsys, text, before=TOLD)
    assert lines
    assert ran
    assert any(made) == ("machine code" in way)
    assert all(native.prints for native in made if native is not None)


def test_what_several_threads_print_is_printed_turn_by_turn(monkeypatch, capsys):
    text = """
        i = cuda.threadIdx.x
        for k in range(n):
            out[i, 0] += values[k]
            if k % 10 == 3 and i < 2:
                print(k, i)
    """
    lines, ran = printed_both_ways(monkeypatch, capsys, text)
    assert lines == [f"{k} {i}" for k in (3, 13, 23, 33) for i in range(2)]
    assert not ran


def test_a_line_is_printed_once_where_threads_meet_behind_it(monkeypatch, capsys):
    text = """
        i = cuda.threadIdx.x
        for k in range(n):
            if k == 5 and i == 0:
                print("early")
            if k == 35:
                out[0, 1] = i
            out[i, 0] += out[0, 1]
    """
    lines, _ = printed_both_ways(monkeypatch, capsys, text)
    assert lines == ["early"]


def test_lines_beyond_the_most_are_not_printed(monkeypatch, capsys):
    text = """
        i = cuda.threadIdx.x
        for k in range(n):
            out[i, 0] += k
            if i == 0:
                print(k)
        print("behind")
    """
    lines, ran = printed_both_ways(monkeypatch, capsys, text, n=MOST_LINES + 20)
    assert lines[MOST_LINES - 1 :] == [
        str(MOST_LINES - 1),
        "kernel prints more; lockstep shows 1,000 lines of a launch",
    ]
    assert ran


def test_lines_before_an_endless_loop_is_given_up_are_printed(monkeypatch, capsys):
    text = """
        i = cuda.threadIdx.x
        k = 0
        while k < n or i == 1:
            k += 1
            if i == 7 and k == 30:
                print("on", k)
    """
    lines, _ = printed_both_ways(monkeypatch, capsys, text, limits=Limits(iterations=300))
    assert lines == ["on 30"]


def test_what_is_refused_is_refused(monkeypatch, capsys):
    text = """
        i = cuda.threadIdx.x
        for k in range(n):
            if i == 0:
                print(k)
            if i == 0 and k == 20:
                print(complex(k, i))
    """
    lines, _ = printed_both_ways(monkeypatch, capsys, text)
    assert lines == [str(k) for k in range(21)]
