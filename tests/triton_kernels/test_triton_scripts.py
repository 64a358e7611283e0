"""Scripts with kernels of Triton, without a GPU: their results, their places, and counts derived by hand."""

import re
from importlib.util import find_spec

import pytest
from helpers.triton_scripts import GROUPED, IN_PLACE, MATMUL, SOFTMAX, TRANSPOSE

import smemviz
from smemviz.errors import SmemvizError

pytestmark = [
    pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed: pip install '.[triton]'"),
    pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION"),
]
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


def recorded(folder, text, **options):
    path = folder / "script.py"
    path.write_text(text)
    recording = smemviz.run(path, engine="lockstep", **options)  # type: ignore[arg-type]
    assert recording.findings == ()
    return recording


def counted(launch):
    """Return requests, wavefronts and sectors by line, space and operation."""
    return {
        (site.line, site.space, site.op): (row.requests, row.wavefronts, row.sectors)
        for site, row in zip(launch.sites, launch.summary(), strict=True)
    }


@needs_torch
def test_softmax_reads_each_row_once_and_each_reduction_takes_a_store_of_every_warp(tmp_path):
    recording = recorded(tmp_path, SOFTMAX)
    (launch,) = recording.launches
    assert (launch.kernel, launch.line, launch.grid, launch.block) == ("softmax", 7, (4, 1, 1), (128, 1, 1))
    counts = counted(launch)
    # 1,024 places of a row by 128 threads: 8 requests of each of 4 warps; 4 rows of 4,000 bytes are 500 sectors.
    assert counts[10, "global", "load"] == counts[13, "global", "store"] == (8 * 4 * 4, None, 500)
    # Each of 4 warps leaves one number, in 4 blocks; with older compilers one leaves the result as well.
    stores = counts[11, "shared", "store"]
    assert stores in ((16, 16, None), (20, 20, None))
    assert counts[13, "shared", "store"] == stores
    source = {(site.line, site.space): (site.column, site.source) for site in launch.sites}
    assert source[11, "shared"] == (22, "tl.max(values, axis=0)")
    assert source[13, "shared"] == (50, "tl.sum(numerator, axis=0)")
    assert source[10, "global"][0] == 13
    assert source[10, "global"][1].startswith("tl.load(x + row * n + columns, mask")
    assert {array.name for array in launch.arrays if array.space == "global"} == {"x", "out"}


def test_a_transpose_of_numpy_arrays_goes_through_shared_memory_without_conflicts(tmp_path):
    recording = recorded(tmp_path, TRANSPOSE)
    (launch,) = recording.launches
    assert launch.grid == (2, 2, 1)
    counts = counted(launch)
    # 4 blocks of 4 warps, each of 128 threads with 8 of 1,024 elements; 16 KiB are 512 sectors, 512 bytes a request.
    assert counts[14, "shared", "store"] == counts[14, "shared", "load"] == (128, 128, None)
    assert counts[13, "global", "load"] == counts[14, "global", "store"] == (32, None, 512)
    other = recorded(tmp_path, TRANSPOSE, constants={"SIZE": 32})
    assert counted(other.launches[0])[13, "global", "load"] == (8, None, 128)


@needs_torch
def test_a_masked_load_of_a_product_copies_what_is_there_and_zeros_for_the_rest(tmp_path):
    recording = recorded(tmp_path, MATMUL)
    (launch,) = recording.launches  # the first configuration, and none to try the others
    assert launch.block == (128, 1, 1)
    counts = counted(launch)
    # 32 of 80 halves of 64 rows at a time, 16 bytes a lane: 8 requests for each of 3 steps, the last with half of each
    # warp's lanes; of the other operand the last step has half of the rows. Both have 10,240 bytes.
    assert counts[16, "global", "load"] == (24, None, 320)
    assert counts[17, "global", "load"] == (8 + 8 + 4, None, 320)
    for line in (16, 17):  # 512 bytes a request: no fewer wavefronts than 4
        requests, wavefronts, _ = counts[line, "shared", "store"]
        assert wavefronts == 4 * requests
        assert requests >= 24
        requests, wavefronts, _ = counts[line, "shared", "ldmatrix_x4"]
        assert wavefronts == 4 * requests
    assert counts[19, "global", "store"] == (32, None, 512)


@needs_torch
def test_torch_says_that_its_tensors_are_on_the_gpu_and_times_are_no_numbers(tmp_path, capsys):
    torch = pytest.importorskip("torch")
    had = torch.cuda.is_available()
    recorded(
        tmp_path,
        SOFTMAX
        + """\
import math
from triton.testing import do_bench

assert torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
device = triton.runtime.driver.active.get_active_torch_device()
assert x.is_cuda and x.device == device and torch.zeros(3, device=device).device == out.device
host = x.cpu()
x.zero_()
assert host.abs().sum() > 0
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
end.record()
torch.cuda.synchronize()
assert math.isnan(start.elapsed_time(end)) and math.isnan(do_bench(lambda: None))
assert do_bench(lambda: None, quantiles=[0.5, 0.2])[1] != 0
assert torch.Generator(device="cuda").initial_seed() and torch.randn(2, 2).to("cuda").half().dtype == torch.float16
with torch.autocast("cuda", dtype=torch.bfloat16):
    assert (torch.ones(2, 2) @ torch.ones(2, 2, device="cuda:0")).dtype == torch.bfloat16
""",
        target=(9, 0),
    )
    assert "times of triton.testing are nan" in capsys.readouterr().err
    assert torch.cuda.is_available() == had
    assert torch.zeros(1).device.type == "cpu"


@needs_torch
def test_a_view_of_a_tensor_is_a_part_of_the_memory_that_others_see(tmp_path):
    text = SOFTMAX.replace("x = torch.randn(4, 1000,", "x = torch.randn(8, 1000,").replace("n(x, 1)", "n(x, 1)[4:]")
    text = text.replace("softmax[(4,)](x, out,", "softmax[(4,)](x[4:], out[4:],").replace("(out, ", "(out[4:], ")
    recorded(tmp_path, text.replace("torch.softmax(x, 1)", "torch.softmax(x[4:], 1)"))


@needs_torch
def test_addresses_that_a_kernel_reads_from_memory_are_those_of_tensors(tmp_path):
    (launch,) = recorded(tmp_path, GROUPED).launches
    names = {array.name for array in launch.arrays if array.space == "global"}
    assert names == {"tables", "sizes", *(f"tables[{number}]" for number in range(6))}
    # 40, 64 and 10 numbers are stored by 2, 2 and 1 of 4 warps, and loaded by the other two as well.
    counts = counted(launch)
    assert counts[13, "global", "store"] == (5, None, 5 + 8 + 2)
    assert counts[13, "global", "load"] == (10, None, 2 * (5 + 8 + 2))


@needs_torch
def test_warp_groups_multiply_where_the_target_has_them(tmp_path):
    recording = recorded(tmp_path, MATMUL, target=(9, 0))
    assert "wgmma" in {site.op for launch in recording.launches for site in launch.sites}


DESCRIPTORS = """import torch, triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def matmul(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([m, k]), b.load([n, k]).T, total)
    c.store([m, n], total.to(tl.float16))


torch.manual_seed(0)
a, b = torch.randn(120, 128, device="cuda").half(), torch.randn(128, 128, device="cuda").half()
c = torch.empty(120, 128, device="cuda", dtype=torch.float16)
maps = (TensorDescriptor.from_tensor(one, [64, 64]) for one in (a, b, c))
matmul[(2, 2)](*maps, 128, BM=64, BN=64, BK=64, num_stages=3, num_warps=4)
torch.testing.assert_close(c.float(), a.float() @ b.float().T, atol=2e-2, rtol=1e-2)
"""


@needs_torch
def test_tensor_descriptors_are_tensor_maps_where_the_target_has_them(tmp_path):
    recording = recorded(tmp_path, DESCRIPTORS, target=(9, 0))
    ops = {site.op for launch in recording.launches for site in launch.sites}
    assert {"bulk_store", "bulk_load", "wgmma", "mbarrier_load", "mbarrier_update"} <= ops


def test_an_error_in_a_kernel_is_at_its_launch(tmp_path):
    with pytest.raises(SmemvizError, match=r"script\.py:19: CompilationError: .*nothing.* \(at "):
        recorded(tmp_path, TRANSPOSE.replace("tl.trans(tile)", "tl.nothing(tile)"))


@needs_torch
def test_shared_memory_is_named_after_what_goes_through_it(tmp_path):
    (launch,) = recorded(tmp_path, MATMUL).launches
    pieces = {array.name: (array.shape[-2:], array.dtype, array.line) for array in launch.arrays if array.is_shared}
    assert pieces["left"] == ((64, 32), "float16", 16)  # behind the number of stages
    assert pieces["right"] == ((32, 64), "float16", 17)
    arrays = {(site.line, site.op): site.array for site in launch.sites if site.is_shared}
    assert arrays[16, "store"] == arrays[16, "ldmatrix_x4"] == "left"
    assert arrays[17, "store"] == arrays[17, "ldmatrix_x4"] == "right"
    assert arrays[19, "store"] == "left" or arrays[19, "store"].endswith("layout")  # the same memory, later
    (launch,) = recorded(tmp_path, SOFTMAX).launches
    names = [array.name for array in launch.arrays if array.is_shared]
    assert names in (["values_reduction", "numerator_reduction"], ["global_smem"])  # older compilers do not tell


@needs_torch
def test_threads_that_repeat_the_work_of_others_do_not_race_with_them_and_others_do(tmp_path):
    """32 elements are loaded by each of 4 warps and stored by one; 128 are moved between threads."""
    (tmp_path / "script.py").write_text(IN_PLACE)
    recording = smemviz.run(tmp_path / "script.py", engine="lockstep")
    assert [launch.kernel for launch in recording.launches] == ["double", "turn"]
    assert {(one.kernel, one.line) for one in recording.findings} == {("turn", 15)}
    assert re.search(r"tl\.(debug_barrier|atomic_add)\(\)", recording.findings[0].message)  # as it is one line or two


TWO = """
import numpy as np
import triton
import triton.language as tl


@triton.autotune([triton.Config({"B": 32}, num_warps=1), triton.Config({"B": 64}, num_warps=2)], key=["n"])
@triton.jit
def turn(x, out, n, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    tile = tl.load(x + rows[:, None] * n + columns[None, :])
    tl.store(out + columns[:, None] * n + rows[None, :], tl.trans(tile))


x = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
out = np.empty_like(x)
turn[lambda meta: (64 // meta["B"], 64 // meta["B"])](x, out, 64)
assert (out == x.T).all()
"""


def test_the_configuration_that_is_asked_for_is_taken(tmp_path, capsys):
    (first,), (second,) = recorded(tmp_path, TWO), recorded(tmp_path, TWO, config=1)
    assert (first.grid, first.block, second.grid, second.block) == ((2, 2, 1), (32, 1, 1), (1, 1, 1), (64, 1, 1))
    assert capsys.readouterr().err.startswith("smemviz: of 2 configurations turn is run with B: 32, num_warps: 1,")
    with pytest.raises(SmemvizError, match=r"script\.py:18: turn has 2 configurations, 0 and up; there is no 2"):
        recorded(tmp_path, TWO, config=2)


def test_what_launches_pass_by_name_is_a_knob(tmp_path):
    text = SCALE.replace("BLOCK=256", "BLOCK=256, num_warps=4")
    (plain,), (wide,) = recorded(tmp_path, text), recorded(tmp_path, text, constants={"BLOCK": 512, "num_warps": "1"})
    assert (plain.grid, plain.block, wide.grid, wide.block) == ((16, 1, 1), (128, 1, 1), (8, 1, 1), (32, 1, 1))


SCALE = """
import numpy as np
import triton
import triton.language as tl


@triton.jit
def scale(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at))


x = np.ones(4096, np.float32)
out = np.empty_like(x)
scale[lambda meta: (4096 // meta["BLOCK"],)](x, out, BLOCK=256)
assert (out == 2).all()
"""
