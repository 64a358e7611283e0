"""Small kernels made at random, each in CUDA C++ and in Python: the same requests and the same results."""

import importlib.util
import random
from dataclasses import dataclass

import numpy as np
import pytest
from helpers.random_kernels import Line, index
from helpers.same_requests import relative_requests
from helpers.tiers import one_in

import smemviz

TYPES = {"int": "int32", "long long": "int64", "signed char": "int8", "float": "float32", "double": "float64"}
BLOCKS = [(64, 1), (32, 2), (16, 4), (8, 8), (32, 1), (48, 1), (7, 5), (20, 3), (1, 33)]
MOST = 100  # what a variable is brought below, so that sums are exact in every type


@dataclass
class Writer:
    """Writes one kernel; every thread stores in elements of its own, so that nothing races."""

    rng: random.Random

    def __post_init__(self):
        self.block = self.rng.choice(BLOCKS)
        self.grid = self.rng.choice([(1, 1), (3, 1), (2, 2)])
        self.cpp_type = self.rng.choice(list(TYPES))
        self.pad = self.rng.choice([0, 0, 1, 3])
        self.dynamic = self.rng.random() < 0.4
        self.local = "int" if self.cpp_type == "signed char" else self.cpp_type
        self.pitch = self.block[0] + self.pad
        self.named = 0

    @property
    def dtype(self):
        return np.dtype(TYPES[self.cpp_type])

    @property
    def threads(self):
        return self.block[0] * self.block[1]

    @property
    def elements(self):
        return self.threads * self.grid[0] * self.grid[1]

    @property
    def bytes(self):
        return self.pitch * self.block[1] * self.dtype.itemsize

    def number(self, names):
        return index(self.rng, names)

    def element(self, row, column):
        """An element of the tile, in C++ and in Python."""
        if self.dynamic:
            return (f"t[({row}) * {self.pitch} + {column}]",) * 2
        return f"t[{row}][{column}]", f"t[{row}, {column}]"

    def any_element(self, names):
        return self.element(f"{self.number(names)} % {self.block[1]}", f"{self.number(names)} % {self.block[0]}")

    def own_element(self):
        if self.block[0] == self.block[1] and self.rng.random() < 0.5:
            return self.element("tx", "ty")
        if self.block[0] & (self.block[0] - 1) == 0:
            return self.element("ty", f"(tx ^ {self.rng.randrange(self.block[0])})")
        return self.element("ty", "tx")

    def given(self, names):
        return f"a[{self.number(names)} % {self.elements}]"

    def value(self, names, reads):
        """Something below MOST, in C++ and in Python."""
        kind = self.rng.randrange(4 if reads else 2)
        if kind == 0:
            one = self.given(names)
            return one, one
        if kind == 1:
            return (str(self.rng.randrange(MOST)),) * 2
        if kind == 2:
            return self.any_element(names)
        (one, two), (three, four) = self.any_element(names), self.value(names, reads)
        test = self.test(names)
        return f"({test} ? {one} : {three})", f"({two} if {test} else {four})"

    def test(self, names):
        return f"({self.number(names)} & {self.rng.choice([1, 3, 5])}) == 1"

    def tests(self, names, reads):
        """A condition whose second half is looked at only where the first leaves it open."""
        one = self.test(names)
        if self.rng.random() < 0.6:
            return one, one
        cpp, python = self.value(names, reads)
        word = self.rng.randrange(2)
        return f"{one} {['&&', '||'][word]} {cpp} > 50", f"{one} {['and', 'or'][word]} {python} > 50"

    def new_name(self):
        self.named += 1
        return f"v{self.named}"

    def statements(self, names, reads, depth=2, loop=False, stores=True):
        """Statements between two barriers: either they load from anywhere, or they store in a thread's own element."""
        made: list[Line] = []
        kinds = ["add", "add", "set", "own"] + ["if", "for", "while"] * (depth > 0) + ["leave"] * loop
        for _ in range(self.rng.randrange(2, 4)):
            kind = self.rng.choice(kinds)
            if kind == "own" and stores and not reads:
                cpp, python = self.own
                made.append((0, f"{cpp} = x;", f"{python} = x"))
            elif kind in ("add", "own"):
                cpp, python = self.value(names, reads)
                made += [(0, f"x = x + {cpp};", f"x = x + {python}")]
                made += [(0, f"if (x >= {MOST}) x = x - {MOST};", f"x = x - {MOST} if x >= {MOST} else x")]
            elif kind == "set":
                one = f"{self.number(names)} & 63"
                made.append((0, f"j = {one};", f"j = {one}"))
            elif kind == "leave":
                test, word = self.test(names), self.rng.choice(["break", "continue"])
                made.append((0, f"if ({test}) {word};", f"if {test}:"))
                made.append((1, "", word))
            else:
                made += self.inside(kind, names, reads, depth, stores)
        return made

    def inside(self, kind, names, reads, depth, stores):
        """A condition or a loop, with what stands in it."""
        if kind == "if":
            cpp, python = self.tests(names, reads)
            made: list[Line] = [(0, f"if ({cpp}) {{", f"if {python}:")]
            made += deeper(self.statements(names, reads, depth - 1, stores=stores))
            if self.rng.random() < 0.5:  # what both sides store alike, a compiler stores before them
                made += [(0, "} else {", "else:"), *deeper(self.statements(names, reads, depth - 1, stores=False))]
            return [*made, (0, "}", "")]
        name, limit = self.new_name(), self.new_name()
        bound = f"({self.number(names)} & 1) + 1"
        made = [(0, f"int {limit} = {bound};", f"{limit} = {bound}")]  # C++ would look at the bound in each turn
        body = self.statements([*names, name], reads, depth - 1, True, stores)
        if kind == "for":
            made.append((0, f"for (int {name} = 0; {name} < {limit}; {name}++) {{", f"for {name} in range({limit}):"))
        else:
            made.append((0, f"int {name} = -1;", f"{name} = -1"))
            made.append((0, f"while ({name} + 1 < {limit}) {{", f"while {name} + 1 < {limit}:"))
            made.append((1, f"{name} = {name} + 1;", f"{name} = {name} + 1"))
        return [*made, *deeper(body), (0, "}", "")]

    def kernel(self):
        names = ["tx", "ty", "j"]
        barrier: Line = (0, "__syncthreads();", "cuda.syncthreads()")
        cpp, python = self.element("ty", "tx")
        made: list[Line] = [(0, f"{cpp} = x;", f"{python} = x"), barrier]
        for _ in range(self.rng.randrange(1, 3)):
            made += [*self.statements(names, reads=True), barrier]
            self.own = self.own_element()  # the same until the next barrier, or threads race
            made += [*self.statements(names, reads=False), barrier]
        made += self.statements(names, reads=True)
        return deeper(made)

    def texts(self):
        """The kernel in C++ and in Python."""
        rows, columns = self.block[1], self.pitch
        body = self.kernel()
        cpp = "\n".join("    " * level + text for level, text, _ in body if text)
        python = "\n".join("    " * level + text for level, _, text in body if text)
        shared = f"extern __shared__ {self.cpp_type} t[];" if self.dynamic else ""
        shared = shared or f"__shared__ {self.cpp_type} t[{rows}][{columns}];"
        shape = "0" if self.dynamic else f"({rows}, {columns})"
        at = f"threads * block + tx + {self.block[0]} * ty"
        return (
            f"__global__ void k({self.cpp_type} *out, const {self.cpp_type} *a) {{\n    {shared}\n"
            "    int tx = threadIdx.x, ty = threadIdx.y, j = 0;\n"
            f"    int block = blockIdx.x + gridDim.x * blockIdx.y, threads = {self.threads};\n"
            f"    {self.local} x = a[{at}];\n{cpp}\n    out[{at}] = x;\n}}\n",
            "import numpy as np\nfrom numba import cuda\n\n\n@cuda.jit\ndef k(out, a):\n"
            f"    t = cuda.shared.array({shape}, np.{self.dtype})\n"
            "    tx, ty, j = cuda.threadIdx.x, cuda.threadIdx.y, 0\n"
            f"    block, threads = cuda.blockIdx.x + cuda.gridDim.x * cuda.blockIdx.y, {self.threads}\n"
            f"    x = a[{at}]\n{python}\n    out[{at}] = x\n",
        )


def deeper(lines):
    return [(level + 1, cpp, python) for level, cpp, python in lines]


def kernel_of(path):
    spec = importlib.util.spec_from_file_location("k", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.k


def hold_against_each_other(folder, seed):
    writer = Writer(random.Random(seed))
    cpp, python = writer.texts()
    (folder / "k.py").write_text(python)
    a = (np.arange(writer.elements) * 7 % MOST).astype(writer.dtype)
    outs = [np.zeros_like(a) for _ in range(3)]
    bytes_ = writer.bytes if writer.dynamic else 0
    made = [
        smemviz.cuda_cpp(cpp, view=view)["k"][writer.grid, writer.block, bytes_](out, a)
        for view, out in zip(("source", "compiled"), outs, strict=False)
    ]
    made.append(
        smemviz.record(
            kernel_of(folder / "k.py"),
            writer.grid,
            writer.block,
            (outs[2], a),
            dynamic_shared=bytes_,
            engine="lockstep",
        )
    )
    assert [recording.findings for recording in made] == [(), (), ()]
    one, other = made[0].launches[0], made[2].launches[0]
    assert relative_requests(one) == relative_requests(other)
    stored = [np.sort(launch.requests.values[~np.isnan(launch.requests.values)]) for launch in (one, other)]
    assert np.array_equal(*stored)
    assert [out.tolist() for out in outs[:2]] == [outs[2].tolist()] * 2


@pytest.mark.parametrize("seed", one_in(6, range(6)))
def test_a_random_kernel_is_the_same_in_both_languages(tmp_path, seed):
    hold_against_each_other(tmp_path, seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_random_kernels_are_the_same_in_both_languages(tmp_path, seed):
    hold_against_each_other(tmp_path, seed)


def test_threads_wait_at_the_end_of_a_round_for_those_of_a_loop_inside_it():
    text = """__global__ void k(float *out, const float *a) {
    float x = 0;
    for (int round = 0; round < 3; round++) {
        x += a[threadIdx.x];
        for (int i = 0; i < threadIdx.x % 4; i++) x = x * 0.5f;
    }
    out[threadIdx.x] = x;
}
"""
    a = np.ones(32, np.float32)
    launch = smemviz.cuda_cpp(text)["k"][1, 32](np.zeros_like(a), a).launches[0]
    assert (launch.requests.addresses >= 0).sum(axis=1).tolist() == [32] * 4
