"""What stands outside a kernel is what it was when Numba compiled the kernel: at a signature, else at the first launch.

Numba reads globals, closures and members of modules into its representation of a function once for each signature
(``numba.core.interpreter``), and ``CUDADispatcher.overloads`` keeps what was compiled.
"""

import sys
import textwrap
from types import ModuleType

from helpers.lockstep_text import run_text

HINT = (
    "{} has changed since Numba compiled the kernel, which keeps what it was then. "
    "Pass it as an argument, or define the kernel anew."
)


def stored(text):
    """Return what the launches of a text leave in the arrays that it puts into ``seen``, and what is hinted."""
    sys.modules["kept_here"] = here = ModuleType("kept_here")
    here.seen, here.RATE = [], 5
    try:
        _, findings = run_text("import kept_here\n" + textwrap.dedent(text))
    finally:
        del sys.modules["kept_here"]
    assert {finding.kind for finding in findings} <= {"kept"}
    assert all(finding.harmless for finding in findings)
    return [out.tolist() for out in here.seen], [finding.message for finding in findings]


LAUNCH = """
def main():
    global FACTOR
    for FACTOR in (2, 7):
        out = np.zeros(2{dtype})
        {launch}(out)
        kept_here.seen.append(out)
"""


def test_a_global_is_what_it_was_when_the_kernel_was_compiled():
    for decorator, wanted in [
        ('cuda.jit("void(float64[:])")', [1, 1]),
        ("cuda.jit([(float64[:],)])", [1, 1]),
        ("cuda.jit", [2, 2]),
    ]:
        text = f"FACTOR = 1\n@{decorator}\ndef kernel(out):\n    out[cuda.grid(1)] = FACTOR\n"
        arrays, hints = stored(text + LAUNCH.format(launch="kernel[1, 2]", dtype=""))

        assert arrays == [[value] * 2 for value in wanted]
        assert hints == [HINT.format("FACTOR")] * sum(now != kept for now, kept in zip((2, 7), wanted, strict=True))


def test_each_type_of_arguments_is_compiled_when_it_is_first_launched():
    text = """
        FACTOR = 1

        @cuda.jit
        def kernel(out, x):
            out[cuda.grid(1)] = FACTOR

        def main():
            global FACTOR
            for dtype, number in ((float64, 1), (float32, 1), (float64, 2), (float64, np.int64(3)), (float64, 1.0)):
                FACTOR += 1
                out = np.zeros(1, str(dtype))
                kernel[1, 1](out, number)
                kept_here.seen.append(out)
        """
    assert stored(text)[0] == [[2], [3], [2], [2], [6]]


def test_forall_compiles_apart_from_other_launches():
    text = "FACTOR = 1\n@cuda.jit\ndef kernel(out):\n    out[cuda.grid(1)] = FACTOR\n"
    launches = "\n        kernel[1, 2](np.zeros(2))\n        FACTOR += 1\n        kernel.forall(2, 2)"
    assert stored(text + LAUNCH.format(launch=launches, dtype=""))[0] == [[3, 3], [3, 3]]


def test_arrays_tuples_members_of_modules_and_closures_are_kept():
    text = """
        TABLE, PAIR = np.arange(3.0), (1, 2)

        @cuda.jit
        def at_module_level(out):
            out[0] = 1

        def made(rate):
            @cuda.jit
            def kernel(out):
                out[0], out[1], out[2], out[3] = TABLE[1], PAIR[1], kept_here.RATE, rate
            def another(other):
                nonlocal rate
                rate = other
            return kernel, another

        def main():
            global PAIR
            kernel, another = made(6)
            for _ in range(2):
                out = np.zeros(4)
                kernel[1, 1](out)
                kept_here.seen.append(out)
                TABLE[1], PAIR, kept_here.RATE = 10, (3, 4), 20
                another(30)
        """
    arrays, hints = stored(text)

    assert arrays == [[1, 2, 5, 6]] * 2
    assert hints == [HINT.format(name) for name in ("PAIR", "TABLE", "kept_here.RATE", "rate")]


DEVICE = """
    FACTOR = 1

    @cuda.jit{signature}
    def factor(x):
        return x + FACTOR

    @cuda.jit
    def kernel(out):
        out[cuda.grid(1)] = factor(0)

    @cuda.jit
    def other(out):
        out[cuda.grid(1)] = factor(0)

    def main():
        global FACTOR
        for FACTOR, launched in ((2, kernel), (3, kernel){more}):
            out = np.zeros(1)
            launched[1, 1](out)
            kept_here.seen.append(out)
    """


def test_device_functions_are_compiled_with_the_first_kernel_that_calls_them_or_at_their_signature():
    for signature, more, kept in [
        ("(device=True)", "", [[2], [2]]),
        ('("int64(int64)", device=True)', ", (4, other)", [[1]] * 3),
    ]:
        arrays, told = stored(DEVICE.format(signature=signature, more=more))
        assert arrays == kept
        assert set(told) == {HINT.format("FACTOR")}


def test_what_depends_on_the_types_that_a_device_function_is_called_with_is_refused():
    _, (_, finding) = run_text(
        DEVICE.format(signature="(device=True)", more=", (4, other)").replace("kept_here.seen.append(out)", "")
    )
    assert finding.kind == "launch_refused"
    assert finding.message == (
        "FACTOR has changed since factor was compiled first, and another kernel, or one for other types, calls it now. "
        "Pass it as an argument. This launch and all after it are missing."
    )


def test_a_function_that_is_defined_anew_is_another_for_new_kernels_only():
    text = """
        @cuda.jit
        def at_module_level(out):
            out[0] = 1

        def main():
            for k in (1, 2):
                @cuda.jit(device=True)
                def factor(x):
                    return x + k
                if k == 1:
                    @cuda.jit
                    def kernel(out):
                        out[0] = factor(0)
                out = np.zeros(1)
                kernel[1, 1](out)
                kept_here.seen.append(out)
        """
    assert stored(text)[0] == [[1], [1]]
