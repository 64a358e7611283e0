"""Small kernels made at random, each in CUDA C++ and in Python, whose text both languages read alike."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

Line = tuple[int, str, str]  # how deep it stands, C++, Python
SIZE = 64
_INT = ("int", "int32")
PICK = {
    "cu": "__device__ int pick(bool first, int one, int other) {\n    return first ? one : other;\n}\n",
    "py": "@cuda.jit(device=True)\ndef pick(first, one, other):\n    return one if first else other\n\n\n",
}
PYTHON_HEAD = "import numpy as np\nfrom numba import cuda, int16, int32, int64\n\n\n"


@dataclass(frozen=True)
class RandomKernel:
    """One kernel ``NAME(out, a)`` for blocks of ``SIZE`` threads, in both languages."""

    name: str
    cpp: str
    python: str


def index(rng: random.Random, names: list[str], depth: int = 2) -> str:
    """An expression that both languages read alike; it never divides, is never negative and stays below 32 bits."""
    if depth == 0:
        return rng.choice([*names, str(rng.randrange(1, 8))])
    left, right = (index(rng, names, depth - 1) for _ in range(2))
    return f"({left} {rng.choice(['+', '*', '^', '&', '|'])} {right})"


def _with_arrays(name: str, arrays: dict[str, tuple[str, str]], lines: list[Line]) -> RandomKernel:
    """Return the kernel of these lines, before which stand its shared arrays of ``SIZE`` elements of these types."""
    declared = [
        (0, f"__shared__ {cpp} {array}[{SIZE}];", f"{array} = cuda.shared.array({SIZE}, {python})")
        for array, (cpp, python) in arrays.items()
    ]
    lines = [*declared, *lines]
    cpp = "\n".join("    " * (level + 1) + text for level, text, _ in lines)
    python = "\n".join("    " * (level + 1) + one for level, _, text in lines if text for one in text.split("\n"))
    return RandomKernel(
        name,
        f"__global__ void {name}(int *out, const int *a) {{\n{cpp}\n}}\n",
        f"@cuda.jit\ndef {name}(out, a):\n{python}\n",
    )


class Both(NamedTuple):
    """One text in both languages."""

    cpp: str
    python: str


class _Maker:
    def __init__(self, seed: int, bound: str) -> None:
        self.rng = random.Random(seed)
        self.bound = bound  # keeps x small
        self.names = 0

    def name(self) -> str:
        self.names += 1
        return f"n{self.names}"

    def load(self) -> Both:
        """Load from shared or global memory that nobody writes then."""
        text = f"{self.rng.choice('tta')}[{index(self.rng, ['i', 'x'], 1)} & {SIZE - 1}]"
        return Both(text, text)

    def number(self, depth: int) -> Both:
        kind = self.rng.choice(["load", "load", "choice"] if depth else ["load"])
        return self.load() if kind == "load" else self.choice(depth - 1)

    def choice(self, depth: int) -> Both:
        one, test, other = self.number(depth), self.test(depth), self.number(depth)
        return Both(f"({test.cpp} ? {one.cpp} : {other.cpp})", f"({one.python} if {test.python} else {other.python})")

    def test(self, depth: int) -> Both:
        rng = self.rng
        kind = rng.choice(["and", "or", "and", "or", "not", "chain", "choice"] if depth else ["load", "load", "bits"])
        if kind in ("and", "or"):
            parts = [self.test(rng.randrange(depth)) for _ in range(rng.choice([2, 2, 3]))]
            sign = {"and": " && ", "or": " || "}[kind]
            return Both(f"({sign.join(p.cpp for p in parts)})", f"({f' {kind} '.join(p.python for p in parts)})")
        if kind == "not":
            inner = self.test(depth - 1)
            return Both(f"(!{inner.cpp})", f"(not {inner.python})")
        if kind == "chain":
            low, middle, high = self.load(), self.number(depth - 1), self.load()
            one, other = rng.choice(["<", "<=", "!="]), rng.choice(["<", "<=", "!="])
            return Both(
                f"({low.cpp} {one} {middle.cpp} && {middle.cpp} {other} {high.cpp})",
                f"({low.python} {one} {middle.python} {other} {high.python})",
            )
        if kind == "bits":
            text = f"({index(rng, ['i', 'x'], 1)} & {rng.choice([1, 2, 3, 5])}) {rng.choice(['==', '!='])} 0"
            return Both(f"({text})", f"({text})")
        number = self.choice(depth - 1) if kind == "choice" else self.load()
        rest = f"{rng.choice(['<', '>', '<=', '!='])} {rng.randrange(6, 28)}"
        return Both(f"({number.cpp} {rest})", f"({number.python} {rest})")

    def statements(self, depth: int = 2) -> list[Line]:
        """Return statements as their depth, C++ and Python; ``s[i]`` is a thread's own."""
        rng, made = self.rng, []
        simple = ["store", "load", "value", "call"]
        for _ in range(rng.randrange(1, 3 if depth < 2 else 4)):
            kind = rng.choice([*simple, "if", "if", "if", "else", "flag", "while", "for"] if depth else simple)
            if kind == "store":
                made.append((0, "s[i] = x;", "s[i] = x"))
            elif kind == "load":
                number = self.load()
                made.append((0, f"x = (x + {number.cpp}){self.bound};", f"x = (x + {number.python}){self.bound}"))
            elif kind == "value":
                value = self.choice(1)
                made.append((0, f"x = (x ^ {value.cpp}){self.bound};", f"x = (x ^ {value.python}){self.bound}"))
            elif kind == "call":
                test, one, other = self.test(1), self.load(), self.load()
                call = [f"pick({test[n]}, {one[n]}, {other[n]})" for n in range(2)]
                made.append((0, f"x = (x + {call[0]}){self.bound};", f"x = (x + {call[1]}){self.bound}"))
            else:
                made += self.compound(kind, depth)
        return made

    def compound(self, kind: str, depth: int) -> list[Line]:
        test, name = self.test(self.rng.randrange(1, 3)), self.name()
        made: list[Line] = []
        if kind == "flag":
            made.append((0, f"bool {name} = {test.cpp};", f"{name} = {test.python}"))
            made += self.statements(0)
            made.append((0, f"if ({name}) {{", f"if {name}:"))
        elif kind == "while":
            made.append((0, f"int {name} = 0;", f"{name} = 0"))
            most = self.rng.randrange(2, 5)
            made.append((0, f"while ({name} < {most} && {test.cpp}) {{", f"while {name} < {most} and {test.python}:"))
            made.append((1, f"{name}++;", f"{name} += 1"))
            made.append((1, f"x = (x + {name}){self.bound};", f"x = (x + {name}){self.bound}"))
        elif kind == "for":
            most, leaves = self.rng.randrange(2, 5), self.rng.choice(["break", "continue"])
            made.append((0, f"for (int {name} = 0; {name} < {most}; {name}++) {{", f"for {name} in range({most}):"))
            made.append((1, f"x = (x + {name}){self.bound};", f"x = (x + {name}){self.bound}"))
            made.append((1, f"if ({test.cpp}) {{", f"if {test.python}:"))
            made.append((2, f"{leaves};", leaves))
            made.append((1, "}", ""))
        else:
            made.append((0, f"if ({test.cpp}) {{", f"if {test.python}:"))
        made += [(level + 1, *texts) for level, *texts in self.statements(depth - 1)]
        if kind == "else":
            made.append((0, "} else {", "else:"))
            made += [(level + 1, *texts) for level, *texts in self.statements(depth - 1)]
        return [*made, (0, "}", "")]


def conditional_kernel(seed: int, name: str = "k", *, small: bool = False) -> RandomKernel:
    """Make a kernel for blocks of ``SIZE`` threads, ``NAME(out, a)``, in both languages.

    A small one has one condition, and nothing that invites a compiler to load less than a number.
    """
    maker = _Maker(seed, "" if small else " & 255")
    kinds = ["if", "else", "else", "flag", "while", "for"]
    body = maker.compound(maker.rng.choice(kinds), 1) if small else [*maker.statements(), *maker.compound("else", 1)]
    lines = [
        (0, "int i = threadIdx.x, x = (a[i] * 5) & 31;", "i = cuda.threadIdx.x\nx = (a[i] * 5) & 31"),
        (0, "t[i] = x ^ 3;", "t[i] = x ^ 3"),
        (0, "s[i] = 0;", "s[i] = 0"),
        (0, "__syncthreads();", "cuda.syncthreads()"),
        *body,
        (0, "out[i] = x + s[i];", "out[i] = x + s[i]"),
    ]
    return _with_arrays(name, {"t": _INT, "s": _INT}, lines)


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
