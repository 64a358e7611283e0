"""Scripts with kernels of Triton."""

SOFTMAX = """\
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + columns, mask=columns < n, other=-float("inf"))
    values = values - tl.max(values, axis=0)
    numerator = tl.exp(values)
    tl.store(out + row * n + columns, numerator / tl.sum(numerator, axis=0), mask=columns < n)


x = torch.randn(4, 1000, device="cuda")
out = torch.empty_like(x)
softmax[(4,)](x, out, 1000, BLOCK=1024)
torch.testing.assert_close(out, torch.softmax(x, 1))
"""
TRANSPOSE = """\
import numpy as np
import triton
import triton.language as tl

SIZE = 64
TILE = 32


@triton.jit
def transpose(x, out, n, TILE: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    tile = tl.load(x + rows[:, None] * n + columns[None, :])
    tl.store(out + columns[:, None] * n + rows[None, :], tl.trans(tile))


x = np.arange(SIZE * SIZE, dtype=np.float32).reshape(SIZE, SIZE)
out = np.empty_like(x)
transpose[lambda meta: (SIZE // meta["TILE"], SIZE // meta["TILE"])](x, out, SIZE, TILE=TILE)
assert (out == x.T).all()
"""
MATMUL = """\
import torch
import triton
import triton.language as tl

CONFIGURATIONS = [triton.Config({"BM": 64, "BN": 64, "BK": 32}), triton.Config({"BM": 128, "BN": 64, "BK": 32})]


@triton.autotune(CONFIGURATIONS, key=["K", "N"])
@triton.jit
def matmul(a, b, c, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + start + k[None, :], mask=start + k[None, :] < K, other=0.0)
        right = tl.load(b + (start + k)[:, None] * N + n[None, :], mask=(start + k)[:, None] < K, other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + m[:, None] * N + n[None, :], total)


a = torch.randn(64, 80, device="cuda", dtype=torch.float16)
b = torch.randn(80, 64, device="cuda", dtype=torch.float16)
c = torch.empty(64, 64, device="cuda")
matmul[(1, 1)](a, b, c, 80, 64)
torch.testing.assert_close(c, a.float() @ b.float(), atol=1e-3, rtol=1e-3)
"""
IN_PLACE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def double(x, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(x + at, tl.load(x + at) * 2)


@triton.jit
def turn(x, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(x + N - 1 - at, tl.load(x + at))


x = torch.arange(32, device="cuda", dtype=torch.float32)
double[(1,)](x, N=32)
assert x.tolist() == [2 * number for number in range(32)]
y = torch.arange(128, device="cuda", dtype=torch.float32)
turn[(1,)](y, N=128)
"""
GROUPED = """\
import torch
import triton
import triton.language as tl


@triton.jit
def negate(tables, sizes, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    source = tl.load(tables + 2 * group).to(tl.pointer_type(tl.float32))
    target = tl.load(tables + 2 * group + 1).to(tl.pointer_type(tl.float32))
    inside = at < tl.load(sizes + group)
    tl.store(target + at, -tl.load(source + at, mask=inside), mask=inside)


sources = [torch.randn(size, device="cuda") for size in (40, 64, 10)]
targets = [torch.zeros(80, device="cuda")[8:] for _ in sources]
addresses = [tensor.data_ptr() for pair in zip(sources, targets) for tensor in pair]
tables = torch.tensor(addresses, device="cuda")
sizes = torch.tensor([len(source) for source in sources], device="cuda", dtype=torch.int32)
negate[(3,)](tables, sizes, BLOCK=64)
assert all((target[: len(source)] == -source).all() for source, target in zip(sources, targets))
assert tables.tolist() == addresses
"""
