"""Instructions on matrices, from CUDA C++, against NumPy: ldmatrix, stmatrix, mma and wmma."""

import numpy as np
import pytest

import smemviz
from smemviz.errors import InputError, UnsupportedError
from smemviz.model.counting.service import assign

RNG = np.random.default_rng(7)


MMA = """#include <cuda_fp16.h>
__global__ void k(float *out, const __half *a, const __half *b) {
    __shared__ __align__(16) __half as[16][16];
    __shared__ __align__(16) __half bs[16][8];
    int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) as[i / 16][i % 16] = a[i];
    for (int i = lane; i < 128; i += 32) bs[i / 8][i % 8] = b[i];
    __syncwarp();
    unsigned ra[4], rb[2];
    float d[4] = {0, 0, 0, 0};
    unsigned pa = __cvta_generic_to_shared(&as[lane % 16][lane / 16 * 8]);
    unsigned pb = __cvta_generic_to_shared(&bs[lane % 16][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int r = 0; r < 4; r++) out[(lane / 4 + 8 * (r / 2)) * 8 + lane % 4 * 2 + r % 2] = d[r];
}
"""


def test_ldmatrix_and_mma_multiply_matrices():
    a = RNG.integers(-4, 5, (16, 16)).astype(np.float16)
    b = RNG.integers(-4, 5, (16, 8)).astype(np.float16)
    out = np.zeros((16, 8), np.float32)
    recording = smemviz.cuda_cpp(MMA)["k"][1, 32](out, a, b)
    assert np.array_equal(out, a.astype(np.float32) @ b.astype(np.float32))
    rows = {s.op: row for s, row in zip(recording.launches[0].sites, recording.launches[0].summary(), strict=True)}
    # Rows of 32 bytes: the 8 rows of a matrix meet two by two; rows of 16 bytes fill all banks.
    assert (rows["ldmatrix_x4"].wavefronts, rows["ldmatrix_x4"].ideal) == (8, 4)
    assert (rows["ldmatrix_x2"].wavefronts, rows["ldmatrix_x2"].ideal) == (2, 2)
    assert not recording.findings


def test_wmma_runs_and_its_wavefronts_are_not_told():
    text = """#include <mma.h>
using namespace nvcuda;
__global__ void k(float *out, const __half *a, const __half *b) {
    __shared__ __align__(32) __half as[256];
    for (int i = threadIdx.x; i < 256; i += 32) as[i] = a[i];
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 1.0f);
    wmma::load_matrix_sync(fa, as, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(out, fc, 16, wmma::mem_row_major);
}
"""
    a, b = RNG.integers(-4, 5, (2, 16, 16)).astype(np.float16)
    out = np.zeros((16, 16), np.float32)
    recording = smemviz.cuda_cpp(text)["k"][1, 32](out, a, b)
    assert np.array_equal(out, a.astype(np.float32) @ b.astype(np.float32).T + 1)
    (row,) = [
        row
        for s, row in zip(recording.launches[0].sites, recording.launches[0].summary(), strict=True)
        if s.op == "wmma_load" and s.space == "shared"
    ]
    assert (row.requests, row.wavefronts) == (1, None)
    assert row.reason == "PTX does not tell which lane of a warp loads or stores which element of a wmma matrix."
    assert not recording.findings


def test_stmatrix_stores_rows_of_eight_halves():
    text = """__global__ void k(unsigned *out) {
    __shared__ __align__(16) unsigned short t[32][8];
    int lane = threadIdx.x;
    unsigned at = __cvta_generic_to_shared(&t[lane][0]);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(at), "r"(lane), "r"(lane + 100), "r"(lane + 200), "r"(lane + 300));
    __syncwarp();
    for (int m = 0; m < 4; m++) out[m * 32 + lane] = *(unsigned *)&t[m * 8 + lane / 4][lane % 4 * 2];
}
"""
    out = np.zeros((4, 32), np.uint32)
    recording = smemviz.cuda_cpp(text)["k"][1, 32](out)
    assert np.array_equal(out, np.arange(32) + 100 * np.arange(4)[:, None])
    rows = {s.op: row for s, row in zip(recording.launches[0].sites, recording.launches[0].summary(), strict=True)}
    assert (rows["stmatrix_x4"].requests, rows["stmatrix_x4"].wavefronts) == (1, 4)
    assert not recording.findings


# Which element a lane has in which register is from the PTX manual's pictures of m16n8k8 and m16n8k32.
TF32 = """__global__ void k(float *out, const float *a, const float *b) {
    int lane = threadIdx.x, g = lane / 4, q = lane % 4;
    unsigned ra[4], rb[2];
    float d[4] = {1, 1, 1, 1};
    for (int r = 0; r < 4; r++)
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(ra[r]) : "f"(a[(g + 8 * (r % 2)) * 8 + q + 4 * (r / 2)]));
    for (int r = 0; r < 2; r++) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rb[r]) : "f"(b[(q + 4 * r) * 8 + g]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int r = 0; r < 4; r++) out[(g + 8 * (r / 2)) * 8 + q * 2 + r % 2] = d[r];
}
"""
INT8 = """__global__ void k(int *out, const int *a, const int *b) {
    int lane = threadIdx.x, g = lane / 4, q = lane % 4;
    int d[4] = {1, 1, 1, 1}, ra[4], rb[2];
    for (int r = 0; r < 4; r++) ra[r] = a[(g + 8 * (r % 2)) * 8 + q + 4 * (r / 2)];
    for (int r = 0; r < 2; r++) rb[r] = b[g * 8 + q + 4 * r];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int r = 0; r < 4; r++) out[(g + 8 * (r / 2)) * 8 + q * 2 + r % 2] = d[r];
}
"""


def test_mma_multiplies_tf32_and_bytes():
    a, b = RNG.integers(-4, 5, (16, 8)).astype(np.float32), RNG.integers(-4, 5, (8, 8)).astype(np.float32)
    out = np.zeros((16, 8), np.float32)
    smemviz.cuda_cpp(TF32)["k"][1, 32](out, a, b)
    assert np.array_equal(out, a @ b + 1)
    p, q = RNG.integers(-128, 128, (16, 32)).astype(np.int8), RNG.integers(-128, 128, (8, 32)).astype(np.int8)
    whole = np.zeros((16, 8), np.int32)
    smemviz.cuda_cpp(INT8)["k"][1, 32](whole, p.view(np.int32), q.view(np.int32))
    assert np.array_equal(whole, p.astype(np.int32) @ q.T.astype(np.int32) + 1)


WMMA = """#include <mma.h>
using namespace nvcuda;
__global__ void k({to} *out, const {element} *a, const {element} *b) {{
    wmma::fragment<wmma::matrix_a, 16, 16, {depth}, {kind}, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, {depth}, {kind}, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, {depth}, {to}> fc;
    wmma::fill_fragment(fc, 2);
    wmma::load_matrix_sync(fa, a, {depth});
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(out, fc, 16, wmma::mem_row_major);
}}
"""


def test_wmma_multiplies_tf32_and_bytes():
    for kind, element, to, depth, dtype in [
        ("wmma::precision::tf32", "float", "float", 8, np.float32),
        ("signed char", "signed char", "int", 16, np.int8),
        ("unsigned char", "unsigned char", "int", 16, np.uint8),
    ]:
        low = 0 if dtype is np.uint8 else -9
        a, b = RNG.integers(low, 10, (16, depth)).astype(dtype), RNG.integers(low, 10, (depth, 16)).astype(dtype)
        out = np.zeros((16, 16), np.float32 if to == "float" else np.int32)
        text = WMMA.format(kind=kind, element=element, to=to, depth=depth)
        recording = smemviz.cuda_cpp(text)["k"][1, 32](out, a, b)
        assert np.array_equal(out, a.astype(out.dtype) @ b.astype(out.dtype) + 2)
        assert {site.op for site in recording.launches[0].sites} == {"wmma_load", "wmma_store"}


REFUSED = {
    "wmma.load.a.sync.aligned.row.m8n8k4.f64": (
        "wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> f;\n"
        "    wmma::load_matrix_sync(f, (double *)out, 4);\n    out[0] = f.x[0];"
    ),
    "mma.sp::ordered_metadata": (
        'unsigned a = 0;\n    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 '
        '{%0,%0,%0,%0}, {%1,%1}, {%1,%1}, {%0,%0,%0,%0}, %1, 0x0;" : "+f"(out[0]) : "r"(a));'
    ),
    "st.bulk": 'unsigned a = 0;\n    asm volatile("st.bulk.weak.shared::cta [%0], %1, 0;" :: "r"(a), "l"(out));',
    "tex.1d": "float f;\n    f = tex1Dfetch<float>(0, 0);\n    out[0] = f;",
}


def test_what_is_not_executed_is_refused_by_name_and_line():
    for what in REFUSED:
        text = f"#include <mma.h>\nusing namespace nvcuda;\n__global__ void k(float *out) {{\n    {REFUSED[what]}\n}}\n"
        with pytest.raises(UnsupportedError, match=r"<text>\.cu:5: .* is not executed$") as refused:
            smemviz.cuda_cpp(text)["k"][1, 32](np.zeros(64, np.float32))
        assert what in str(refused.value)


def test_addresses_of_wmma_are_not_counted():
    for op in ["wmma_load", "wmma_store"]:
        for function in (smemviz.wavefronts, assign):
            with pytest.raises(
                InputError, match=f"{op} cannot be counted from addresses: PTX does not tell which lane"
            ):
                function(np.arange(32) * 16, 16, op)


THREADS = 64
KERNEL = """
__global__ void k(unsigned char *out, const unsigned char *in, const int *sizes) {{
    __shared__ __align__(16) unsigned char t[{threads} * {width}];
    int i = threadIdx.x, size = sizes[i];
    for (int b = 0; b < {width}; b++) t[i * {width} + b] = 255;
    unsigned to = (unsigned)__cvta_generic_to_shared(&t[i * {width}]);
    asm volatile("{copy}" :: "r"(to), "l"(in + i * {width}), "r"(size), "l"(0ull));
    asm volatile("cp.async.wait_all;");
    for (int b = 0; b < {width}; b++) out[i * {width} + b] = t[i * {width} + b];
}}
"""
IGNORING = "{{ .reg .pred p; setp.eq.s32 p, %2, 0; cp.async.{0}.shared.global{1} [%0], [%1], {2}, p{3}; }}"


def copied(copy, width, sizes, given=THREADS):
    """Copy ``width`` bytes a thread, of which so many are read, from what is there for the first ``given`` threads."""
    source = np.arange(1, given * width + 1, dtype=np.uint8)
    out = np.zeros((THREADS, width), np.uint8)
    text = KERNEL.format(threads=THREADS, width=width, copy=copy)
    recording = smemviz.cuda_cpp(text)["k"][1, THREADS](out, source, np.array(sizes, np.int32))
    return out, recording


def expected(width, sizes):
    whole = np.arange(1, THREADS * width + 1, dtype=np.uint8).reshape(THREADS, width)
    return np.where(np.arange(width) < np.array(sizes)[:, None], whole, 0)


def addresses(launch, space, op, width):
    """Return the addresses of the copy, a row of 32 lanes a warp, from the first byte of the array on."""
    (site,) = (n for n, one in enumerate(launch.sites) if (one.space, one.op) == (space, op) and "asm" in one.source)
    assert launch.sites[site].width == width
    start = next(array.address for array in launch.arrays if array.name == {"global": "in", "shared": "t"}[space])
    rows = launch.requests.addresses[launch.requests.site == site]
    return np.where(rows < 0, -1, rows - start)


def test_bytes_beyond_the_source_size_are_zero():
    for copy, width in [
        ("cp.async.ca.shared.global [%0], [%1], 4, %2;", 4),
        ("cp.async.ca.shared::cta.global.L2::64B [%0], [%1], 8, %2;", 8),
        ("cp.async.cg.shared.global [%0], [%1], 16, %2;", 16),
        ("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;", 16),
        ("cp.async.cg.shared.global.L2::cache_hint.L2::256B [%0], [%1], 16, %2, %3;", 16),
        ("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 8, %2, %3;", 8),
    ]:
        sizes = [(i * 7) % (width + 1) for i in range(THREADS)]
        out, recording = copied(copy, width, sizes)
        np.testing.assert_array_equal(out, expected(width, sizes))
        assert not recording.findings

        (launch,) = recording.launches
        at = np.arange(THREADS).reshape(2, 32) * width
        reads = np.array(sizes).reshape(2, 32) > 0
        np.testing.assert_array_equal(addresses(launch, "global", "load", width), np.where(reads, at, -1))
        np.testing.assert_array_equal(addresses(launch, "shared", "store", width), at)


def test_a_source_that_is_ignored_is_zero():
    for copy, width in [
        (IGNORING.format("ca", "", 4, ""), 4),
        (IGNORING.format("cg", ".L2::128B", 16, ""), 16),
        (IGNORING.format("cg", ".L2::cache_hint", 16, ", %3"), 16),
    ]:
        sizes = [width * (i % 3 > 0) for i in range(THREADS)]
        out, recording = copied(copy, width, sizes)
        np.testing.assert_array_equal(out, expected(width, sizes))
        reads = np.array(sizes).reshape(2, 32) > 0
        np.testing.assert_array_equal(addresses(recording.launches[0], "global", "load", width) >= 0, reads)


def test_a_policy_alone_is_no_source_size():
    out, recording = copied("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %3;", 16, [0] * THREADS)
    np.testing.assert_array_equal(out, expected(16, [16] * THREADS))
    assert (addresses(recording.launches[0], "global", "load", 16) >= 0).all()


def test_a_warp_that_reads_nothing_makes_no_request_and_no_mistake():
    sizes = [16] * 32 + [0] * 32
    out, recording = copied("cp.async.cg.shared.global [%0], [%1], 16, %2;", 16, sizes, given=32)
    np.testing.assert_array_equal(out, expected(16, sizes))
    assert not recording.findings
    np.testing.assert_array_equal(addresses(recording.launches[0], "global", "load", 16), [np.arange(32) * 16])
    assert len(addresses(recording.launches[0], "shared", "store", 16)) == 2


def test_what_is_read_beyond_the_end_is_a_mistake_of_those_that_read_it():
    sizes = [16] * 32 + [0, 4, 0, 12] + [0] * 28
    out, recording = copied("cp.async.cg.shared.global [%0], [%1], 16, %2;", 16, sizes, given=32)
    np.testing.assert_array_equal(out, expected(16, [*sizes[:32], *[0] * 32]))
    (finding,) = recording.findings
    assert (finding.kind, finding.threads) == ("out_of_bounds", ((33, 0, 0), (35, 0, 0)))


def test_the_last_row_may_end_within_a_copy():
    text = """
__global__ void k(float *out, const float *in, int n) {
    __shared__ __align__(16) float t[64];
    int i = threadIdx.x * 4, bytes = i < n ? min(4, n - i) * 4 : 0;
    unsigned to = (unsigned)__cvta_generic_to_shared(&t[i]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"(in + i), "r"(bytes));
    asm volatile("cp.async.wait_all;");
    for (int b = 0; b < 4; b++) out[i + b] = t[i + b];
}
"""
    out = np.full(64, -1, np.float32)
    recording = smemviz.cuda_cpp(text)["k"][1, 16](out, np.arange(1, 43, dtype=np.float32), 42)
    assert not recording.findings
    np.testing.assert_array_equal(out, [*range(1, 43), *[0] * 22])


def test_the_header_of_cuda_fills_with_zeros():
    text = """#include <cuda_pipeline.h>
__global__ void k(float4 *out, const float4 *in) {
    __shared__ float4 t[32];
    __pipeline_memcpy_async(&t[threadIdx.x], in + threadIdx.x, 16, threadIdx.x % 2 ? 12 : 0);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = t[threadIdx.x];
}
"""
    given, out = np.ones((32, 4), np.float32), np.full((32, 4), -1, np.float32)
    smemviz.cuda_cpp(text)["k"][1, 32](out, given)
    np.testing.assert_array_equal(out, [[1, 1, 1, 1], [1, 0, 0, 0]] * 16)
