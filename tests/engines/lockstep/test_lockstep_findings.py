"""What lockstep finds in a kernel that a GPU does not tell, and the launches and constructs it refuses."""

import numpy as np
import pytest
from helpers.lockstep_text import HEAD, START, body, run_text, what

from smemviz.errors import KernelFileError, LaunchError, UnsupportedError

# -- out of bounds


def test_a_store_out_of_bounds_is_found_and_writes_nothing():
    whole = np.zeros(64, np.int64)
    launch, (finding,) = body(
        """
        i = cuda.grid(1)
        out[i + 16] = 1
        """,
        whole[:32],
    )

    assert whole[:32].tolist() == [0] * 16 + [1] * 16
    assert whole[32:].tolist() == [0] * 32
    assert (finding.kind, finding.kernel, finding.line) == ("out_of_bounds", "kernel", START + 3)
    assert what(finding) == "out[32] is outside shape (32,)"
    assert finding.block == (0, 0, 0)
    assert finding.threads == tuple((t, 0, 0) for t in range(16, 24))
    assert (launch.requests.addresses[0] >= 0).tolist() == [True] * 16 + [False] * 16


def test_the_block_of_a_finding_is_the_first_that_makes_it():
    _, (finding,) = body("out[cuda.grid(1)] = 1", np.zeros(20, np.int64), grid=(2, 2), block=(16, 2))

    assert finding.block == (1, 0, 0)
    assert finding.threads == tuple((x, 0, 0) for x in range(4, 12))


def test_what_lies_out_of_bounds_is_named_and_neither_loaded_nor_stored():
    """Of 32 threads ``t``; what ``out`` holds afterwards."""
    load = "s = cuda.shared.array((32, 32), int32)\ns[31, t] = 5\nout[t] = s[31 + t % 2, t]"
    for text, n, wrong, left in [
        (load, 32, "s[32, 1] is outside shape (32, 32)", [5, 0] * 16),
        ("cuda.atomic.add(out, t, 1)", 4, "out[4] is outside shape (4,)", [1] * 4),
        ("held = cuda.shared.array(0, int32)\nheld[0] = 1", 1, "held[0] is outside shape (0,)", [0]),  # none asked for
        ("part = out[4:8]\npart[t % 5] = 1", 9, "out[4] is outside shape (4,)", [0] * 4 + [1] * 4 + [0]),
        ("for k in range(8):\n    out[8 * t + k] = 1", 32, "out[32] is outside shape (32,)", [1] * 32),  # found once
        ("out[-33] = 1", 32, "out[-33] is outside shape (32,)", [0] * 32),
        ("out[32] = 1", 32, "out[32] is outside shape (32,)", [0] * 32),
        ("out[2**62] = 1", 32, f"out[{2**62}] is outside shape (32,)", [0] * 32),
        ("out[uint64(2**63)] = 1", 32, f"out[{2**63}] is outside shape (32,)", [0] * 32),
        (
            "k = uint32(t) - uint32(1)\nif t == 0:\n    out[k] = 1",
            8,
            f"out[{2**64 - 1}] is outside shape (8,)",
            [0] * 8,
        ),
        ("if t == 0:\n    out[t - 9] = 1", 8, "out[-9] is outside shape (8,)", [0] * 8),
    ]:
        out = np.zeros(n, np.int64)
        _, (finding,) = body(f"t = cuda.threadIdx.x\n{text}", out, harmless=True)
        assert (finding.kind, what(finding), finding.is_unsafe) == ("out_of_bounds", wrong, True)
        assert out.tolist() == left, text
    out = np.zeros(32, np.int64)
    assert body("out[-1 - cuda.threadIdx.x] = cuda.threadIdx.x", out)[1] == ()  # counted from the end
    assert out.tolist() == list(range(31, -1, -1))


# -- barriers


def test_a_barrier_that_part_of_a_block_reaches_is_found():
    _, (finding,) = body(
        """
        if cuda.threadIdx.x < 16:
            cuda.syncthreads()
        x = 1
        """,
        np.zeros(1, np.int64),
        block=48,
    )

    assert (finding.kind, finding.line) == ("barrier_divergence", START + 3)
    assert what(finding) == "cuda.syncthreads() is reached by 16 threads of a block while 32 are elsewhere"
    assert finding.threads[0] == (16, 0, 0)


def test_barriers_that_every_running_thread_of_a_block_reaches_are_fine():
    for text in [
        "if cuda.blockIdx.x == 1:\n    cuda.syncthreads()",  # whole blocks may differ
        "if cuda.threadIdx.x >= 16:\n    return\ncuda.syncthreads()",  # threads that have ended are not waited for
        "for k in range(cuda.blockIdx.x):\n    cuda.syncthreads()",
    ]:
        _, findings = body(text, np.zeros(1, np.int64), grid=3, block=48)

        assert findings == ()


# -- the host part


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("kernel(np.zeros(3))", LaunchError, "kernel needs a launch: kernel[grid, block](...)"),
        ("cuda.syncthreads()", KernelFileError, "cuda.syncthreads is for kernels; this line runs on the host"),
        (
            "cuda.shared.array(3, int32)",
            KernelFileError,
            "cuda.shared.array is for kernels; this line runs on the host",
        ),
        ("x = cuda.threadIdx.x + 1", KernelFileError, "cuda.threadIdx.x is for kernels; this line runs on the host"),
        ("cuda.nowhere()", UnsupportedError, "cuda has no nowhere, in Numba either"),
        (
            "cuda.jit(linked='a.ptx')",
            UnsupportedError,
            "cuda.jit has no option linked, in Numba either; leave it out",
        ),
        (
            "cuda.set_memory_manager(None)",
            UnsupportedError,
            "cuda.set_memory_manager is not known to the lockstep engine; run with engine gpu",
        ),
        (
            "kernel[1, 1](out=np.zeros(3))",
            LaunchError,
            "a launch takes no keyword arguments, in Numba either; leave out out=",
        ),
        ("helper(1)", LaunchError, "helper is a device function; call it in a kernel"),
        ("helper[1, 1](1)", LaunchError, "helper is a device function; only kernels are launched"),
        (
            "kernel[1](np.zeros(3))",
            LaunchError,
            "a launch needs kernel[grid, block], then perhaps a stream and dynamic shared bytes",
        ),
        (
            "kernel[1, 16, 64](np.zeros(3))",
            LaunchError,
            "the third value of a launch is a stream; 64 is not one. Dynamic shared memory is the fourth: "
            "kernel[grid, block, 0, 64]",
        ),
        (
            "typed[1, 1](np.zeros(3), 1)",
            LaunchError,
            "typed is compiled for (array(float32, 1d, A), int32); the launch gives other types",
        ),
    ],
)
def test_mistakes_in_the_host_part_name_their_line(text, error, message):
    with pytest.raises(error) as raised:
        run_text(
            f"""
            @cuda.jit
            def kernel(out):
                out[0] = 1
            @cuda.jit("void(float32[:], int32)")
            def typed(out, n):
                out[0] = n
            @cuda.jit(device=True)
            def helper(x):
                return x
            def main():
                {text}
            """
        )

    assert raised.value.line == START + 10
    assert raised.value.what == message


LAST_GUARD = """
held = cuda.shared.array(64, int32)
t = cuda.threadIdx.x
held[t] = t
if t < 40:
    cuda.syncthreads()
    out[t] = held[t]
AFTER
"""


def test_a_barrier_skipped_by_threads_that_have_nothing_left_to_do_is_no_mistake():
    _, (finding,) = body(LAST_GUARD.replace("AFTER", "return"), np.zeros(64, np.int64), block=64, harmless=True)
    assert (finding.kind, finding.line, finding.harmless) == ("barrier_skipped", START + 6, True)
    assert finding.message == (
        "cuda.syncthreads() is reached by 40 threads of a block; the other 24 have nothing left to do, "
        "so a device goes on without them, as after a return."
    )
    last_loop = "for k in range(cuda.threadIdx.x):\n    cuda.syncthreads()"
    _, (finding,) = body(last_loop, np.zeros(1, np.int64), block=64, harmless=True)
    assert finding.kind == "barrier_skipped"


def test_a_barrier_skipped_by_threads_that_go_on_is_a_mistake():
    for text in [
        LAST_GUARD.replace("AFTER", "out[t] = 1"),
        LAST_GUARD.replace("AFTER", "else:\n    out[t] = 1"),
        "for k in range(3):\n    if cuda.threadIdx.x > k:\n        cuda.syncthreads()",
        "for k in range(3):\n    if cuda.threadIdx.x == k:\n        continue\n    cuda.syncthreads()",
    ]:
        _, findings = body(text, np.zeros(64, np.int64), block=64)
        assert findings[0].kind == "barrier_divergence"


def test_what_does_no_harm_is_printed_and_fails_nothing(tmp_path, command):
    for statement, launch, printed in [
        ("a[0] = 1", "k[2, 64](np.zeros(1, np.int64))", "benign race in k"),
        ("a[cuda.threadIdx.x - 1] = 1", "k[1, 4](np.zeros(4))", "negative index in k"),
    ]:
        file = tmp_path / "harmless.py"
        file.write_text(f"{HEAD}@cuda.jit\ndef k(a):\n    {statement}\n\n\ndef main():\n    {launch}\n")

        assert printed in command("run", file, "--engine", "lockstep").out


def test_an_index_in_several_brackets_is_named_whole_and_one_of_a_slice_by_the_slice():
    for code, wrong in [
        ("x = out[40][0][0]", "out[40] is outside shape (40, 36, 3)"),
        ("x = out[39][cuda.threadIdx.x + 20][0]", "out[39, 36] is outside shape (40, 36, 3)"),
        ("x = out[1, 2][3]", "out[1, 2, 3] is outside shape (40, 36, 3)"),
        ("x = out[1][2, -4]", "out[1, 2, -4] is outside shape (40, 36, 3)"),
        ("x = out[:, 36][0, 0]", "out[:, 36] is outside shape (40, 36, 3)"),
        ("x = out[:, 35][40, 0]", "out[40, 35, 0] is outside shape (40, 36, 3)"),
        ("x = out[2, 40, 0]", "out[2, 40, 0] is outside shape (40, 36, 3)"),
        ("part = out[2:7]\nx = part[5][0]", "out[5] is outside shape (5, 36, 3)"),
        ("part = out[cuda.laneid:, 1]\nx = part[9]", "out[9] is outside shape (9, 3)"),
    ]:
        _, (finding,) = body(code, np.zeros((40, 36, 3), np.int64))
        assert what(finding) == wrong


def test_a_barrier_of_the_grid_needs_the_first_thread_of_each_block():
    for test, kind in [("t < 20", "barrier_skipped"), ("t > 20", "barrier_divergence")]:
        text = f"t = cuda.threadIdx.x\nif {test}:\n    cuda.cg.this_grid().sync()\n    out[t] = 1"
        _, (finding,) = body(text, np.zeros(64, np.int64), block=64, harmless=True)
        assert finding.kind == kind


def hints(text, *args, parameters="a, out", **options):
    _, findings = body("i = cuda.grid(1)\nt = cuda.threadIdx.x\n" + text, *args, parameters=parameters, **options)
    return findings


def told(text):
    """Return what is told of a body run by two blocks of four: the text, its line from 1, who, and of which block."""
    a = np.arange(8)
    findings = hints(text, a, np.zeros((8, 4), np.int64), grid=2, block=4, harmless=True)
    return [(what(f), f.line - START - 3, [x for x, _, _ in f.threads], f.block[0]) for f in findings]


BACK = "Python counts a negative index from the end, C++ does not"
HINTED = [
    ("out[i, 0] = a[i - 1]", f"a[-1] is a[7]: {BACK}", 1, [0], 0),
    ("out[i, 0] = a[i - 2] + a[i - 1]", f"a[-2] is a[6]: {BACK}", 1, [0, 1], 0),
    ("out[i - 1, t] = 1", f"out[-1, 0] is out[7, 0]: {BACK}", 1, [0], 0),
    ("out[i, t - 1] = 1", f"out[0, -1] is out[0, 3]: {BACK}", 1, [0], 0),
    ("row = out[i]\nrow[t - 1] = 1", f"out[0, -1] is out[0, 3]: {BACK}", 2, [0], 0),
    ("for k in range(4):\n  out[i, k] = a[k - 1]", f"a[-1] is a[7]: {BACK}", 2, [0, 1, 2, 3], 0),
    ("before = i - 1\nout[i, 0] = a[before]", f"a[-1] is a[7]: {BACK}", 2, [0], 0),
    (
        "s = cuda.shared.array(4, int64)\ns[t] = 1\ncuda.syncthreads()\nif i > 0:\n  out[i, 0] = s[t - 1]",
        f"s[-1] is s[3]: {BACK}",
        5,
        [0],
        1,
    ),
    ("s = cuda.local.array(4, int64)\ns[t - 1] = 1", f"s[-1] is s[3]: {BACK}", 2, [0], 0),
    ("out[i, 0] = a[cuda.threadIdx.x - 1]", f"a[-1] is a[7]: {BACK}", 1, [0], 0),
    ("out[i, 0] = a[cuda.grid(1) - 1]", f"a[-1] is a[7]: {BACK}", 1, [0], 0),
    ("cuda.atomic.add(a, t - 1, 1)", f"a[-1] is a[7]: {BACK}", 1, [0], 0),
    ("cuda.atomic.add(out, (i, t - 1), 1)", f"out[0, -1] is out[0, 3]: {BACK}", 1, [0], 0),
]


def test_an_index_that_happens_to_be_negative_is_told_of_once_a_line():
    for text, wrong, line, threads, block in HINTED:
        assert told(text) == [(wrong, line, threads, block)]
    (hint,) = hints("out[i] = a[i - 1]", np.arange(8), np.zeros(8), block=8, harmless=True)
    assert (hint.harmless, hint.is_unsafe) == (True, False)


MEANT = [
    "out[i, 0] = a[-1]",
    "out[i, -1] = a[-1 - i]",
    "out[i, 0] = a[-i]",
    "out[i, 0] = a[-(i + 1)]",
    "out[i, 0] = a[LAST]",
    "out[i, 0] = a[LAST + 1 - 1]",
    "out[i, 0] = a[i - 1] if i > 0 else 0",
    "if i > 0 and a[i - 1] > 2:\n  out[i, 0] = 1",
    "out[i, 0] = a[(i - 1) % 8]",
    "out[-1 - i, t] = a[i]",
    "out[i, :][-1] = 2",
]


def test_an_index_that_is_meant_to_be_negative_is_not():
    for text in MEANT:
        assert hints(text, np.arange(8), np.zeros((8, 4)), before="LAST = -1\n", grid=2, block=4, harmless=True) == ()
