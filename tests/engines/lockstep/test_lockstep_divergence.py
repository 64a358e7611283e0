"""Random programs: every thread ends as if it had run alone, and lanes of a warp ask together where they are together.

Hypothesis writes the body of a kernel out of branches, loops, breaks, continues and returns that differ between
threads; the peer is Python itself, running the same body for one thread after the other.
"""

import dis
import textwrap
import traceback
from collections import Counter

import numba
import numpy as np
import pytest
from helpers.alone import run_alone
from helpers.lockstep_text import START, body, launch_text, what
from hypothesis import given
from hypothesis import strategies as st

from smemviz.errors import UnsupportedError

BLOCK = 20  # threads; a part of a warp
THREADS = 2 * BLOCK
FIRST = START + 3  # the line of the body's first
NAMES = ("x", "y", "z")
NAMED = 8  # threads that a finding names at most
SLOTS = 3  # elements of each thread in ``out``

leaf = st.one_of(st.sampled_from([*NAMES, "i"]), st.integers(-3, 7).map(str))


def combined(inner):
    number = st.tuples(inner, st.sampled_from(["+", "-", "*", "%", "//", "&", "|", "^"]), inner)
    return st.one_of(
        number.map(lambda t: f"(({t[0]} {t[1]} {t[2]}) % 97)" if t[1] not in ("%", "//") else guarded(t)),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} > {t[2]} else {t[0]} + 1)"),
        st.tuples(inner, inner).map(lambda t: f"min({t[0]}, {t[1]})"),
        inner.map(lambda t: f"out[i * {SLOTS} + {t} % {SLOTS}]"),
    )


def guarded(parts):
    return f"({parts[0]} {parts[1]} ({parts[2]} % 5 + 1))"


expression = st.recursive(leaf, combined, max_leaves=4)
comparison = st.tuples(expression, st.sampled_from(["<", "==", "!=", ">="]), expression).map(" ".join)
condition = st.one_of(
    comparison,
    st.tuples(comparison, st.sampled_from(["and", "or"]), comparison).map(" ".join),
    comparison.map(lambda c: f"not ({c})"),
    st.tuples(expression, expression, expression).map(lambda t: f"{t[0]} < {t[1]} <= {t[2]}"),
)


@st.composite
def blocks(draw, depth=0, in_loop=False):
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        lines += draw(statements(depth, in_loop))
    return lines


@st.composite
def statements(draw, depth, in_loop):
    kinds = ["assign", "assign", "store", "swap", "add"]
    kinds += ["if", "for", "while"] if depth < 3 else []
    kinds += ["break", "continue"] if in_loop else []
    kind = draw(st.sampled_from([*kinds, "return"] if depth else kinds))
    inside = textwrap.indent
    match kind:
        case "assign":
            return [f"{draw(st.sampled_from(NAMES))} = {draw(expression)}"]
        case "store":
            return [f"out[i * {SLOTS} + {draw(st.integers(0, SLOTS - 1))}] = {draw(expression)}"]
        case "add":
            return [f"out[i * {SLOTS} + {draw(expression)} % {SLOTS}] += {draw(expression)} % 50"]
        case "swap":
            return ["x, y = y, x"]
        case "if":
            lines = [f"if {draw(condition)}:", *(inside(x, "  ") for x in draw(blocks(depth + 1, in_loop)))]
            if draw(st.booleans()):
                lines += ["else:", *(inside(x, "  ") for x in draw(blocks(depth + 1, in_loop)))]
            return lines
        case "for":
            name = f"k{depth}"
            lines = [f"for {name} in range({draw(expression)} % 4):", f"  {draw(st.sampled_from(NAMES))} += {name}"]
            lines += [inside(x, "  ") for x in draw(blocks(depth + 1, True))]
            if draw(st.booleans()):
                lines += ["else:", "  z = z + 1"]
            return lines
        case "while":
            name = f"w{depth}"
            lines = [f"{name} = 0", f"while {name} < {draw(expression)} % 5:", f"  {name} += 1"]
            return lines + [inside(x, "  ") for x in draw(blocks(depth + 1, True))]
        case _:
            # Under a condition, or nothing after it would ever run.
            return [f"if {draw(condition)}:", f"  {kind}"]


def logged(launch):
    """Return how often each request was made, as ``run_alone`` does."""
    (out,) = launch.arrays
    found = Counter()
    for site, block, addresses in zip(
        *(getattr(launch.requests, n) for n in ("site", "block", "addresses")), strict=True
    ):
        one = launch.sites[site]
        lanes = tuple((lane, int(a - out.address) // 8) for lane, a in enumerate(addresses) if a >= 0)
        found[int(block), one.line - FIRST + 1, one.column, one.op, lanes] += 1
    return found


@pytest.mark.exhaustive
@given(blocks())
def test_threads_that_go_different_ways_end_as_if_alone_and_make_requests_where_they_are_together(lines):
    body = "\n".join(["x = i % 7", "y = 3 - i", "z = 1", *lines, f"out[i * {SLOTS}] = (x + 3 * y + 5 * z) % 1009"])
    start = (np.arange(THREADS * SLOTS) * 31) % 17
    text = "@cuda.jit\ndef kernel(out):\n  i = cuda.grid(1)\n" + textwrap.indent(body, "  ") + "\n"

    launch, findings = launch_text(text, out := start.copy(), grid=2, block=BLOCK)

    assert findings == ()
    values, requests = run_alone(body, start, THREADS, BLOCK)
    assert out.tolist() == values
    assert logged(launch) == requests


class UsedError(Exception):
    """A value that means nothing is used."""


class Nothing:
    """A value that means nothing: so does what is computed from it, and whoever asks for it is told."""

    def _more(self, *_):
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = __neg__ = _more
    __floordiv__ = __rfloordiv__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _more
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _more
    __hash__ = None

    def __index__(self):
        raise UsedError

    __bool__ = __index__


class Elements(list):
    """An array in which only numbers are stored."""

    def __setitem__(self, index, value):
        super().__setitem__(index, int(value))


def least(a, b):
    return a if isinstance(a, Nothing) else b if isinstance(b, Nothing) else min(a, b)


@pytest.mark.exhaustive
@given(blocks())
def test_threads_use_what_is_not_assigned_where_python_says_so(lines):
    lines = [line.replace("x, y = y, x", "x = y") for line in lines]  # of a tuple both are used
    body = "\n".join(
        ["if i % 3:", "  x = 1", "if i % 5:", "  z = 1", "y = 3 - i", *lines, f"out[i * {SLOTS}] = x + y + z"]
    )
    start = (np.arange(NAMED * SLOTS) * 31) % 17
    scope = {"min": least}
    exec("def f(i, out, x, z):\n" + textwrap.indent(body, "  "), scope)
    alone, wrong = Elements(map(int, start)), {}
    for i in range(NAMED):
        try:
            scope["f"](i, alone, Nothing(), Nothing())
        except UsedError as error:
            place = next(p for p in reversed([*traceback.walk_tb(error.__traceback__)]) if p[0].f_code.co_name == "f")
            wrong[i, 0, 0] = place[1] - 2 + FIRST
    text = "@cuda.jit\ndef kernel(out):\n  i = cuda.grid(1)\n" + textwrap.indent(body, "  ") + "\n"

    try:
        _, findings = launch_text(text, start.copy(), block=NAMED)
    except UnsupportedError as error:
        refused, findings = error.what, error.findings
    else:
        refused = ""

    assert {finding.kind for finding in findings} <= {"unassigned_read"}
    assert {thread for finding in findings for thread in finding.threads} <= set(wrong)
    if refused:  # nobody that comes there has assigned it
        assert "is read before it is assigned" in refused
    else:
        assert {finding.line for finding in findings} >= set(wrong.values())


OPERATORS = ["+", "-", "*", "//", "%", "&", "|", "^", "<", "=="]
arithmetic = st.recursive(
    st.sampled_from(["a[i]", "b[i]", "c[i]", "i", "3", "-7", "True"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda t: f"({' '.join(t)})"),
        st.tuples(inner, inner).map(lambda t: f"({t[0]} << ({t[1]} & 31))"),
        st.tuples(inner, inner).map(lambda t: f"({t[0]} >> ({t[1]} & 63))"),
        st.tuples(inner, inner).map(lambda t: f"max(np.int64({t[0]}), np.int64({t[1]}))"),
        inner.map(lambda t: f"(-{t})"),
        inner.map(lambda t: f"(~{t})"),
        inner.map(lambda t: f"abs({t})"),
        inner.map(lambda t: f"np.int32({t})"),
        inner.map(lambda t: f"np.uint8({t})"),
    ),
    max_leaves=6,
)


@pytest.mark.exhaustive
@given(arithmetic, st.integers(0, 2**32))
def test_integer_expressions_are_what_numba_compiles(expression, seed):
    random = np.random.default_rng(seed)
    a = random.integers(-(2**31), 2**31, 32).astype(np.int32)
    b = random.integers(0, 2**32, 32).astype(np.uint32)
    c = random.integers(-(2**63), 2**63 - 1, 32)
    scope = {"np": np}
    exec(f"def f(a, b, c, out):\n  for i in range(32):\n    out[i] = {expression}\n", scope)
    numba.njit(scope["f"], error_model="numpy")(a, b, c, wanted := np.zeros(32, np.int64))

    text = f"@cuda.jit\ndef kernel(a, b, c, out):\n  i = cuda.threadIdx.x\n  out[i] = {expression}\n"
    launch_text(text, a, b, c, found := np.zeros(32, np.int64))

    assert found.tolist() == wanted.tolist()


def findings_of(text, block=64, **options):
    start = "t = cuda.threadIdx.x\nk = 0\n"
    out = np.zeros(block, np.int64)
    return body(start + text, out, block=block, harmless=True, **options)[1], out.tolist()


TWO_WAYS = "while cuda.syncthreads_or(int(k < 2)):\n  k += 1\n  if t {which}:\n    continue\n  out[t] += 1"


def test_a_warp_that_comes_to_a_barrier_of_a_loop_by_two_ways_is_found():
    (finding,), out = findings_of(TWO_WAYS.format(which="== 3"))

    assert (finding.kind, finding.line, finding.threads) == ("split_barrier", START + 4, ((3, 0, 0),))
    assert what(finding) == (
        "cuda.syncthreads_or(int(k < 2)) is reached by continue in some threads of a warp, by the end of the loop in "
        "others: Python compiles a condition twice, so they wait at two barriers, and a GPU may hang"
    )
    assert not finding.harmless
    assert out == [2, 2, 2, 0, *[2] * 60]


def test_python_compiles_the_condition_of_a_loop_twice():
    def loop(barrier, x):
        while barrier():
            if x():
                continue
            x()

    read = [instruction.argval for instruction in dis.get_instructions(loop)]
    assert read.count("barrier") == 2


FINE = [
    TWO_WAYS.format(which=">= 32"),  # whole warps
    TWO_WAYS.format(which=">= 0"),
    "while True:\n  if not cuda.syncthreads_or(int(k < 2)):\n    break\n  k += 1\n  if t == 3:\n    continue\n  k += 0",
    "while k < 2:\n  k += 1\n  if t == 3:\n    continue\n  out[t] += 1",
    "while cuda.syncthreads_or(int(k < 2)):\n  k += 1\n  if t == 3:\n    continue\n  else:\n    continue",
]


def test_a_warp_that_comes_to_it_by_one_way_is_fine():
    for text in FINE:
        assert findings_of(text)[0] == ()


def test_a_barrier_in_a_function_that_the_condition_calls_counts():
    before = "@cuda.jit(device=True)\ndef any_left(k):\n  return cuda.syncthreads_count(int(k < 2)) > 0\n"
    text = TWO_WAYS.format(which="== 3").replace("cuda.syncthreads_or(int(k < 2))", "any_left(k)")

    assert [finding.kind for finding in findings_of(text, before=before)[0]] == ["split_barrier"]


def test_threads_that_break_out_of_such_a_loop_miss_its_barrier():
    for after, kind in [("", "barrier_skipped"), ("\nout[t] += 1", "barrier_divergence")]:
        text = "while cuda.syncthreads_or(int(k < 2)):\n  k += 1\n  if t == 3:\n    break\n  out[t] += 1"
        (finding,), _ = findings_of(text + after)

        assert (finding.kind, finding.line, finding.threads) == (kind, START + 4, ((3, 0, 0),))
