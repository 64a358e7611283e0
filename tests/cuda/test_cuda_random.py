"""Small kernels made at random, each in CUDA C++ and in Python: the same requests and the same results."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from helpers.same_requests import relative_requests

import smemviz

SIZE = 64


def index(rng: random.Random, names: list[str], depth: int = 2) -> str:
    """An expression that both languages read alike; it never divides and stays below 32 bits."""
    if depth == 0:
        return rng.choice([*names, str(rng.randrange(1, 8))])
    left, right = (index(rng, names, depth - 1) for _ in range(2))
    return f"({left} {rng.choice(['+', '*', '^', '&', '|'])} {right})"


def statements(rng: random.Random, depth: int = 2) -> list[tuple[int, str, str]]:
    """Statements as their depth, C++ and Python; shared elements are a thread's own, so that nothing races."""
    made: list[tuple[int, str, str]] = []
    for _ in range(rng.randrange(2, 4)):
        kind = rng.choice(["store", "load", "global", "if", "for"] if depth else ["store", "load", "global"])
        place = f"({index(rng, ['i', 'x'])} & {SIZE - 1})"
        if kind == "store":
            made.append((0, "t[i] = x;", "t[i] = x"))
        elif kind == "load":
            made.append((0, "x = (x + t[i]) & 255;", "x = (x + t[i]) & 255"))
        elif kind == "global":
            made.append((0, f"x = (x + a[{place}]) & 255;", f"x = (x + a[{place}]) & 255"))
        else:
            test = f"({index(rng, ['i', 'x'])} & {rng.choice([1, 3, 5])})"
            head = (f"if ({test} == 1) {{", f"if {test} == 1:")
            if kind == "for":
                name = f"k{depth}"
                limit = f"n{rng.randrange(1 << 30)}"  # C++ would look at the bound in each turn
                made.append((0, f"int {limit} = {test} + 1;", f"{limit} = {test} + 1"))
                head = (f"for (int {name} = 0; {name} < {limit}; {name}++) {{", f"for {name} in range({limit}):")
            made.append((0, *head))
            made += [(level + 1, cpp, python) for level, cpp, python in statements(rng, depth - 1)]
            made.append((0, "}", ""))
    return made


@pytest.mark.parametrize("seed", range(12))
def test_a_random_kernel_is_the_same_in_both_languages(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    body = statements(rng)
    cpp = "\n".join(["    " * (level + 1) + text for level, text, _ in body])
    python = "\n".join("    " * (level + 1) + text for level, _, text in body if text)
    places = [f"({index(rng, ['i'])} & {SIZE - 1})" for _ in range(2)]
    (tmp_path / "k.cu").write_text(
        f"__global__ void k(int *out, const int *a) {{\n    __shared__ int t[{SIZE}];\n"
        f"    int i = threadIdx.x, x = a[i] & 15;\n    t[i] = x;\n    __syncthreads();\n    x = t[{places[0]}];\n"
        f"    __syncthreads();\n{cpp}\n    out[i] = x;\n}}\n"
        f"// smemviz: k<<<2, {SIZE}>>>(zeros({SIZE}), arange({SIZE}))\n"
    )
    (tmp_path / "k.py").write_text(
        f"import numpy as np\nfrom numba import cuda, int32\n\n\n@cuda.jit\ndef k(out, a):\n"
        f"    t = cuda.shared.array({SIZE}, int32)\n    i = cuda.threadIdx.x\n    x = a[i] & 15\n    t[i] = x\n"
        f"    cuda.syncthreads()\n    x = t[{places[0]}]\n    cuda.syncthreads()\n{python}\n    out[i] = x\n\n\n"
        f"def main():\n    k[2, {SIZE}](np.zeros({SIZE}, np.int32), np.arange({SIZE}, dtype=np.int32))\n"
    )
    one, other = (smemviz.run(tmp_path / name, engine="lockstep").launches[0] for name in ("k.cu", "k.py"))
    assert relative_requests(one) == relative_requests(other)
    stored = [np.sort(launch.requests.values[~np.isnan(launch.requests.values)]) for launch in (one, other)]
    assert np.array_equal(*stored)
