"""Kernels in CUDA C++ of one expression, computed for many numbers."""

from typing import Any

from numpy.typing import NDArray

import smemviz
from smemviz.recordings.recording import Recording

N = 256


def compute(
    body: str, out: NDArray[Any], *given: NDArray[Any], more: str = "", view: str = "source", block: int = N
) -> Recording:
    """Run ``out[i] = <body>`` for every i; arguments are a and b, and ``i`` is the thread."""
    kinds = {
        "int32": "int",
        "uint32": "unsigned",
        "float32": "float",
        "uint64": "unsigned long long",
        "float16": "__half",
    }
    parameters = ", ".join(f"const {kinds[str(one.dtype)]} *{name}" for one, name in zip(given, "ab", strict=False))
    head = f"{more}\n__global__ void k({kinds[str(out.dtype)]} *out, {parameters})"
    text = f"{head} {{\n    int i = threadIdx.x;\n    {body}\n}}\n"
    return smemviz.cuda_cpp(text, view=view)["k"][len(out) // block or 1, block](out, *given)
