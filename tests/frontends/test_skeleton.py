"""The ``main()`` that is proposed for a file that only defines kernels: it runs."""

import pytest

import smemviz
from smemviz.errors import KernelFileError

HEAD = """
from numba import cuda, float32
TILE = 16

@cuda.jit(device=True)
def at(table, x, y):
    return table[y, x]

@cuda.jit
"""


def test_the_main_that_is_proposed_launches_the_kernel(tmp_path):
    for kernel, launch in [
        ("def k(out):\n    out[cuda.grid(1)] = 1\n", "k[1, 32](np.zeros(32))"),
        (
            "def k(a, n):\n    x, y = cuda.grid(2)\n    if x < n:\n        a[y, x] = at(a, x, y)\n",
            "k[1, (32, 32)](np.zeros((32, 32)), 32)",
        ),
        (
            "def k(a, b):\n    x, y, z = cuda.grid(3)\n    a[z][y][x] = len(b)\n",
            "k[1, (8, 8, 8)](np.zeros((8, 8, 8)), np.zeros(8))",
        ),
        (
            "def k(a):\n    s = cuda.shared.array(shape=(TILE, TILE), dtype=float32)\n"
            "    x, y = cuda.threadIdx.x, cuda.threadIdx.y\n    s[y, x] = a[y, x]\n    a[x, y] = s[y, x]\n",
            "k[1, (16, 16)](np.zeros((16, 16)))",
        ),
        (
            "def k(table, a, total):\n    rows, columns = table.shape\n    x = cuda.grid(1)\n    if x < rows:\n"
            "        a[x] = at(table, x, x)\n        cuda.atomic.add(total, (0, x), a[x])\n",
            "k[1, 32](np.zeros((32, 32)), np.zeros(32), np.zeros((32, 32)))",
        ),
        ("def k(n):\n    pass\n", "k[1, 32](32)"),
    ]:
        file = tmp_path / "kernels.py"
        file.write_text(HEAD + kernel)
        with pytest.raises(KernelFileError) as error:
            smemviz.run(file, engine="lockstep")
        proposed = error.value.what.partition("such as ")[2]
        start = "import numpy as np; " if "np." in launch else ""
        assert proposed == f"def main(): {start}{launch}"
        file.write_text(f"{HEAD}{kernel}\n{proposed}\n")
        assert [one.kernel for one in smemviz.run(file, engine="lockstep").launches] == ["k"]
