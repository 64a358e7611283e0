"""Small kernels made at random, each in CUDA C++ and in Python, whose text both languages read alike."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

SIZE = 64
_TYPES = (("int", "int32"), ("int", "int32"), ("short", "int16"), ("long long", "int64"))
PYTHON_HEAD = "import numpy as np\nfrom numba import cuda, int16, int32, int64\n\n\n"


@dataclass(frozen=True)
class RandomKernel:
    """One kernel ``NAME(out, a)`` for blocks of ``SIZE`` threads, in both languages."""

    name: str
    cpp: str
    python: str


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


def random_kernel(seed: int, name: str = "k") -> RandomKernel:
    """Make a kernel: a tile turned through shared memory, elements exchanged, then statements of each thread's own."""
    rng = random.Random(seed)
    body = statements(rng)
    cpp_type, python_type = rng.choice(_TYPES)
    rows = rng.choice([2, 4, 8, 16, 32])
    columns = SIZE // rows
    pitch = columns + rng.choice([0, 0, 1, 2])
    places = [f"({index(rng, ['i'])} & {SIZE - 1})" for _ in range(2)]
    turned = (f"i & {rows - 1}", f"i >> {rows.bit_length() - 1}")
    straight = (f"i >> {columns.bit_length() - 1}", f"i & {columns - 1}")
    store, load = (turned, straight) if rng.random() < 0.5 else (straight, turned)
    lines = [
        (0, "int i = threadIdx.x, x = a[i] & 15;", "i = cuda.threadIdx.x\nx = a[i] & 15"),
        (0, "t[i] = x;", "t[i] = x"),
        (0, f"w[{store[0]}][{store[1]}] = x;", f"w[{store[0]}, {store[1]}] = x"),
        (0, "__syncthreads();", "cuda.syncthreads()"),
        (0, f"x = t[{places[0]}] + w[{load[0]}][{load[1]}];", f"x = t[{places[0]}] + w[{load[0]}, {load[1]}]"),
        (0, "__syncthreads();", "cuda.syncthreads()"),
        *body,
        (0, "out[i] = x;", "out[i] = x"),
    ]
    cpp = "\n".join("    " * (level + 1) + text for level, text, _ in lines)
    python = "\n".join("    " * (level + 1) + one for level, _, text in lines if text for one in text.split("\n"))
    return RandomKernel(
        name,
        f"__global__ void {name}(int *out, const int *a) {{\n    __shared__ {cpp_type} t[{SIZE}];\n"
        f"    __shared__ {cpp_type} w[{rows}][{pitch}];\n{cpp}\n}}\n",
        f"@cuda.jit\ndef {name}(out, a):\n    t = cuda.shared.array({SIZE}, {python_type})\n"
        f"    w = cuda.shared.array(({rows}, {pitch}), {python_type})\n{python}\n",
    )


def cpp_file(kernels: Iterable[RandomKernel], *, before: str = "") -> str:
    """Return a ``.cu`` file that launches each kernel with two blocks."""
    return before + "\n".join(
        f"// smemviz: {one.name}<<<2, {SIZE}>>>(zeros({SIZE}), arange({SIZE}))\n{one.cpp}" for one in kernels
    )


def python_file(kernels: Iterable[RandomKernel], *, before: str = "", shows: bool = False) -> str:
    """Return a kernel file that launches each kernel with two blocks, and perhaps prints what each leaves."""
    kernels = list(kernels)
    launches = []
    for one in kernels:
        launches.append(f"    out = cuda.to_device(np.zeros({SIZE}, np.int32))")
        launches.append(f"    {one.name}[2, {SIZE}](out, cuda.to_device(np.arange({SIZE}, dtype=np.int32)))")
        launches += [f'    print("{one.name}", *out.copy_to_host())'] if shows else []
    defined = "\n\n".join(one.python for one in kernels)
    return f"{PYTHON_HEAD}{before}{defined}\n\ndef main():\n" + "\n".join(launches) + "\n"
