"""Kernels nobody here wrote: numba-cuda's own tests and documentation examples run in lockstep; none is wrong."""

from collections import Counter

import pytest
from helpers import numba_corpus

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(numba_corpus.folder() is None, reason="numba-cuda's tests are not installed"),
]

# Modules whose tests launch kernels and look at what they compute.
MODULES = {
    "cudapy": (
        *("test_alignment", "test_array_alignment", "test_array_args", "test_array_methods", "test_atomics"),
        *("test_blackscholes", "test_boolean", "test_casting", "test_complex", "test_complex_kernel", "test_constmem"),
        *("test_cooperative_groups", "test_copy_propagate", "test_cuda_jit_no_types"),
        *("test_device_func", "test_enums", "test_exception", "test_fastmath", "test_flow_control"),
        *("test_forall", "test_freevar", "test_frexp_ldexp", "test_globals", "test_idiv", "test_intrinsics"),
        *("test_lang", "test_libdevice", "test_localmem", "test_math", "test_montecarlo"),
        *("test_nondet", "test_overload", "test_powi", "test_py2_div_issue", "test_random"),
        *("test_record_dtype", "test_slicing", "test_sm", "test_sm_creation", "test_ssa"),
        *("test_sync", "test_userexc", "test_warp_ops"),
    ),
    "doc_examples": (
        # test_random passes too; it takes minutes for its 64 million numbers.
        *("test_cg", "test_cpu_gpu_compat", "test_globals", "test_matmul", "test_montecarlo", "test_reduction"),
        *("test_sessionize", "test_vecadd"),
    ),
}
# What ends otherwise for a reason of its own, which is not what a kernel computes.
KNOWN = {
    "TestAlignment.test_record_alignment_error": "wants the compiler's refusal, before any launch",
    "TestCudaMath.test_math_pow": "wants NumPy's warning, for which the driver here does not wait",
    "TestDeviceFunc.test_inspect_asm": "asks for generated code",
    "TestDeviceFunc.test_inspect_llvm": "asks for generated code",
    "TestCudaDateTime.test_datetime_view_as_int64": "asks for the pointer of a device array",
    "TestCudaDateTime.test_timedelta_view_as_int64": "asks for the pointer of a device array",
}


@pytest.fixture(scope="module")
def outcomes():
    root = numba_corpus.folder()
    return [
        one
        for folder, modules in MODULES.items()
        for module in modules
        for one in numba_corpus.outcomes(root / folder / f"{module}.py")
    ]


def test_no_kernel_gives_a_wrong_result(outcomes):
    wrong = [f"{o.module}: {o.method}: {o.why}" for o in outcomes if o.state == "wrong" and o.method not in KNOWN]
    assert wrong == []


def test_500_test_methods_and_340_kernels_pass(outcomes):
    """numba-cuda 0.30.4: most of the rest ask for no kernel's results, or for what is refused by its name."""
    counted = Counter(o.state for o in outcomes)
    kernels = {(o.module, kernel) for o in outcomes if o.state == "passed" for kernel in o.kernels}
    assert counted["passed"] >= 500
    assert counted["refused"] <= 60
    assert len(kernels) >= 340


def test_every_refusal_says_what_it_is_about(outcomes):
    for one in outcomes:
        if one.state == "refused":
            assert any(word in one.why for word in SAYS), one


# Each refusal is one of these sentences, or names the name that has no rule.
SAYS = (
    *(
        "is not executed in lockstep; ",
        "is not followed;",
        "is copied whole;",
        "is not known how many items",
        "cannot be told",
    ),
    *(
        "needs a constant shape",
        "needs a dtype",
        "is compiled for",
        "calls itself, which is not followed in Python kernels; write a loop",
    ),
    *(
        "one name stands for two kinds of array",
        "is a device function",
        "is a plain function",
        "lockstep runs",
        "needs an alignment",
        "is not at a multiple of its size",
    ),
    *(
        "a kernel takes arrays, numbers and tuples",
        "has no field",
        "a field is taken by its name here",
        "Numba has no",
        "has changed since",
        "is not known to the lockstep engine",
        "Numba does not compile it for CUDA; ",
    ),
)
