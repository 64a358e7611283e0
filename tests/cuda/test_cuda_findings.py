"""What a GPU does not tell of a kernel in CUDA C++: each mistake is found where it is made."""

import numpy as np
import pytest

import smemviz
from smemviz.errors import UnsupportedError


def run(folder, body, launch, view="source", more=""):
    path = folder / "kernel.cu"
    path.write_text(f"{more}__global__ void k(int *out, int n) {{\n{body}\n}}\n// smemviz: k<<<{launch})\n")
    return smemviz.run(path, view=view)


VIEWS = pytest.mark.parametrize("view", ["source", "compiled"])


TILE = "__shared__ int t[64];\nint i = threadIdx.x;\n"
ONE = "1, 64>>>(zeros(64), 1"
FOUND = [  # body, launch, kind, line, first thread, and what is said
    ("int i = blockIdx.x * blockDim.x + threadIdx.x;\nout[i] = i;", "2, 64>>>(zeros(100), 1",
        "out_of_bounds", 3, 36, "out[100] is outside the 100 elements of out"),
    ("out[(int)threadIdx.x - 1] = 3;", ONE, "out_of_bounds", 2, 0, "out[-1] is outside the 64 elements of out"),
    ("__shared__ int t[32];\nt[threadIdx.x + 1] = 3;\n__syncthreads();\nif (threadIdx.x) out[0] = t[threadIdx.x];",
        "1, 32>>>(zeros(32), 1", "out_of_bounds", 3, 31, "t[32] is outside the 32 elements of t"),
    (f"{TILE}if (i < 32) t[i] = i;\n__syncthreads();\nout[i] = t[i];", ONE,
        "unwritten_read", 6, 32, "32 of the 64 elements of t are written"),
    (f"{TILE}t[i] = i;\nout[i] = t[63 - i];", ONE,
        "race", 5, 63, "with no barrier between. Put __syncthreads() between them."),
    *((f"{TILE}t[i] = {uses};\nout[i] = t[31 - i];", "1, 32>>>(zeros(32), 1", "race", 5, 31, f"Put {barrier} between")
        for uses, barrier in [("i", "__syncthreads()"), ("__shfl_sync(0xffffffff, i, 0)", "__syncwarp()"),
                              ("__popc(__activemask())", "__syncwarp()")]),
    ("int i = threadIdx.x;\nif (i < 32)\n    __syncthreads();\nout[i] = i;", ONE, "barrier_divergence", 4, 32,
        "__syncthreads() is reached by 32 threads of a block while 32 are elsewhere"),
    ("out[0] = 1;\nassert(out[threadIdx.x] == 1);", "1, 32>>>(zeros(32), 1", "assertion", 3, 1,
        "assert(out[threadIdx.x] == 1) fails"),
]  # fmt: skip
FINE = [
    # Threads that have returned are not waited for, those that others wait for go first, and time goes by.
    ("int i = blockIdx.x * 64 + threadIdx.x;\nif (i >= n) return;\nout[i] = i;\n__syncthreads();\nout[i] += 1;",
        "2, 64>>>(zeros(70), 70"),
    ("long long start = clock64();\nwhile (clock64() - start < 100000) {}\nout[0] = 1;", "1, 32>>>(zeros(1), 1"),
    ("volatile int *flag = out;\nif (threadIdx.x == 0) {\n    while (flag[1] == 0) {}\n    out[0] = 5;\n}"
        " else if (threadIdx.x == 32) {\n    flag[1] = 7;\n}", ONE),
]  # fmt: skip


@VIEWS
def test_a_mistake_is_found_at_its_line_by_its_threads(tmp_path, view):
    for body, launch, kind, line, thread, said in FOUND:
        finding, *others = run(tmp_path, body, launch, view).findings
        assert (finding.kind, finding.line, finding.threads[0], others) == (kind, line, (thread, 0, 0), []), body
        assert said in finding.message


def test_what_is_fine_or_of_one_view_alone_is_told_as_such(tmp_path):
    for body, launch in FINE:
        assert not run(tmp_path, body, launch).findings, body
    halves = "int i = threadIdx.x;\nif (i < 32)\n    __syncthreads();\nelse\n    __syncthreads();\nout[i] = i;"
    assert [f.kind for f in run(tmp_path, halves, ONE).findings] == ["barrier_divergence"]
    apart = "*reinterpret_cast<int4 *>(out + 1) = make_int4(n, n, n, n);"
    (finding,) = run(tmp_path, apart, "1, 32>>>(zeros(64), 1", "compiled").findings
    assert (finding.kind, finding.line) == ("misaligned", 2)
    assert "is not a multiple of 16" in finding.message


LOCK = (
    "__shared__ int lock;\nif (threadIdx.x == 0) lock = {held};\n__syncthreads();\n"
    "while (atomicCAS(&lock, 0, 1) != 0) {{}}"
)


@VIEWS
@pytest.mark.parametrize(
    ("body", "line", "thread"),
    [
        ("volatile int *flag = out;\nif (threadIdx.x == 5)\n    while (flag[0] == 0) {}\nout[40] = 1;", 4, 5),
        ("__shared__ volatile int go;\ngo = 0;\n__syncthreads();\nwhile (!go) {}\nout[0] = 1;", 5, 0),
        (LOCK.format(held=1) + "\nout[0] = 1;\natomicExch(&lock, 0);", 5, 0),
        ("__shared__ int s;\ns = 0;\n__syncthreads();\nif (threadIdx.x == 0)\n    while (atomicAdd(&s, 0) == 0) {}\n"
         "__syncthreads();\nout[0] = s;", 6, 0),
        ("int i = n;\nwhile (i) { i ^= 2; }\nout[0] = i;", 3, 0),
    ],
)  # fmt: skip
def test_a_loop_that_waits_for_what_nobody_does_is_a_deadlock(tmp_path, view, body, line, thread):
    if view == "compiled" and "^=" in body:
        body = body.replace("i ^= 2;", "i ^= 2; __threadfence();")  # a loop without effect may be left out
    recording = run(tmp_path, body, "1, 64>>>(zeros(64), 1", view)
    (finding,) = [finding for finding in recording.findings if finding.kind == "deadlock"]
    assert (finding.line, finding.threads[0]) == (line, (thread, 0, 0))
    assert finding.message.startswith("waits in a loop for something that no thread does")
    assert len(recording.launches) == 1


@pytest.mark.parametrize(
    ("view", "lanes"),
    [("compiled", 8), *(pytest.param(view, 32, marks=pytest.mark.exhaustive) for view in ("source", "compiled"))],
)
def test_a_lock_that_is_let_go_is_taken_by_every_lane(tmp_path, view, lanes):
    body = LOCK.format(held=0) + "\n((volatile int *)out)[0] += 1;\nassert(out[0] <= n);\natomicExch(&lock, 0);"
    assert [f.kind for f in run(tmp_path, body, f"1, {lanes}>>>(zeros(1), {lanes}", view).findings] == []


@pytest.mark.exhaustive
def test_threads_that_wait_for_each_other_in_a_chain_go_on(tmp_path):
    body = (
        "volatile int *f = out;\nif (threadIdx.x == 0) { while (f[1] == 0) {} out[0] = 5; }\n"
        "else if (threadIdx.x == 32) { while (f[2] == 0) {} f[1] = 7; }\n"
        "else if (threadIdx.x == 33) { int k = 0; for (int i = 0; i < 3000; i++) k += i; f[2] = k; }"
    )
    assert not run(tmp_path, body, "1, 64>>>(zeros(64), 1").findings


def test_printf_prints_a_line_for_each_thread_as_c_does_up_to_a_length(tmp_path, capsys):
    for kernel, threads, printed in [
        (
            'printf("%*d|%-5d|%*d|%.*f|%.*f|%x\\n%2147483647d", 4, 3, 3, -3, 3, 2, 2.25, -1, 2.5, 255, 7);',
            1,
            "   3|3    |3  |2.25|2.500000|ff\n" + "7".rjust(4096),
        ),
        (
            'printf("%d of %u: %5.2f %s%%\\n", threadIdx.x, n, 1.5 * threadIdx.x, "x");',
            2,
            "0 of 9:  0.00 x%\n1 of 9:  1.50 x%\n",
        ),
    ]:
        run(tmp_path, kernel, f"1, {threads}>>>(zeros(1), 9")
        assert capsys.readouterr().out == printed


def test_an_instruction_that_is_not_executed_is_refused_at_its_line(tmp_path):
    body = 'unsigned r = 0;\nasm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], 1;" :: "l"(out));\nout[0] = r;'
    with pytest.raises(UnsupportedError, match=r"kernel\.cu:3: multimem.* is not executed"):
        run(tmp_path, body, "1, 1>>>(zeros(1), 1")


def test_random_divergence_reconverges_and_computes_as_numpy_does(tmp_path):
    rng = np.random.default_rng(3)
    values = rng.integers(0, 50, 256).astype(np.int32)
    text = """__global__ void collatz(int *steps, const int *start) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = start[i] + 1, count = 0;
    while (n != 1) {
        if (n % 2 == 0) n /= 2;
        else n = 3 * n + 1;
        if (++count == 40) break;
        if (n % 7 == 0) continue;
        count += n % 3 == 0;
    }
    steps[i] = count;
}
"""
    expected = []
    for start in values.tolist():
        n, count = start + 1, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
            if count == 40:
                break
            if n % 7 == 0:
                continue
            count += n % 3 == 0
        expected.append(count)
    for view in ("source", "compiled"):
        steps = np.zeros(256, np.int32)
        recording = smemviz.cuda_cpp(text, view=view)["collatz"][4, 64](steps, values)
        assert steps.tolist() == expected
        # All lanes of a warp have met again at the store.
        stores = [
            row
            for s, row in zip(recording.launches[0].sites, recording.launches[0].summary(), strict=True)
            if s.op == "store"
        ]
        assert [row.requests for row in stores] == [8]
