"""Floats of 8 bits: how they are rounded, as halves are, and products of them; ``host`` has all conversions."""

import numpy as np

import smemviz

SMALL = """__global__ void k(unsigned *out, const float *v) {
    unsigned short s[8];
    int i = threadIdx.x;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(s[0]) : "f"(v[i]), "f"(-v[i]));
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(s[1]) : "f"(v[i]), "f"(-v[i]));
    asm("cvt.rz.f16.f32 %0, %1;" : "=h"(s[2]) : "f"(v[i]));
    asm("cvt.rm.f16.f32 %0, %1;" : "=h"(s[3]) : "f"(v[i]));
    asm("cvt.rp.f16.f32 %0, %1;" : "=h"(s[4]) : "f"(v[i]));
    asm("cvt.rz.bf16.f32 %0, %1;" : "=h"(s[5]) : "f"(v[i]));
    asm("cvt.rp.bf16.f32 %0, %1;" : "=h"(s[6]) : "f"(v[i]));
    unsigned h;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(h) : "h"(s[0]));
    for (int n = 0; n < 7; n++) out[8 * i + n] = s[n];
    out[8 * i + 7] = h;
}
"""


def test_numbers_between_two_are_rounded_as_it_is_said():
    # 1 + 3/16 lies between 1.125 and 1.25 in e4m3, and between 1 and 1.25 in e5m2. 500 is too large for e4m3, and lies
    # between 448 and 512 in e5m2.
    given = np.array([1 + 3 / 16, 500.0, 1 + 2**-20, -1 - 2**-20] + [0.0] * 28, np.float32)
    out = np.zeros((32, 8), np.uint32)
    smemviz.cuda_cpp(SMALL)["k"][1, 32](out.reshape(-1), given)
    assert [hex(code) for code in out[:2, 0]] == ["0x3aba", "0x7efe"]
    assert [hex(code) for code in out[:2, 1]] == ["0x3dbd", "0x60e0"]
    assert out[2:4, 2:7].tolist() == [
        [0x3C00, 0x3C00, 0x3C01, 0x3F80, 0x3F81],
        [0xBC00, 0xBC01, 0xBC00, 0xBF80, 0xBF80],
    ]
    assert out[1, 7] == int(np.float16(448).view(np.uint16)) << 16 | int(np.float16(-448).view(np.uint16))


def _matrices(rows):
    """Return A and B of so many rows and 8, with 32 columns, as numbers and as words of e4m3."""
    codes = {0.0: 0x00, 1.0: 0x38, -1.0: 0xB8, 2.0: 0x40, 0.5: 0x30, -3.0: 0xC4}
    rng = np.random.default_rng(3)
    both = [rng.choice(list(codes), (count, 32)).astype(np.float32) for count in (rows, 8)]
    return both, [np.vectorize(codes.get)(one).astype(np.uint8).view(np.uint32).reshape(-1) for one in both]


PRODUCT = """__global__ void k(float *out, const unsigned *a, const unsigned *b) {
    float d[4] = {};
    int t = threadIdx.x;
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[t / 4 * 8 + t % 4]), "r"(a[(t / 4 + 8) * 8 + t % 4]), "r"(a[t / 4 * 8 + t % 4 + 4]),
          "r"(a[(t / 4 + 8) * 8 + t % 4 + 4]), "r"(b[t / 4 * 8 + t % 4]), "r"(b[t / 4 * 8 + t % 4 + 4]));
    for (int n = 0; n < 4; n++) out[(t / 4 + n / 2 * 8) * 8 + t % 4 * 2 + n % 2] = d[n];
}
"""


def test_a_product_of_numbers_of_8_bits_is_right_and_its_opcode_needs_no_blank_behind_it():
    (a, b), bits = _matrices(16)
    out = np.zeros((16, 8), np.float32)
    smemviz.cuda_cpp(PRODUCT)["k"][1, 32](out.reshape(-1), *bits)
    assert (out == a @ b.T).all()


GROUPS = """__global__ void k(float *out, const unsigned *a, const unsigned *b) {
    __shared__ alignas(128) unsigned tile[64];  // 8 rows of 16 bytes, and those of the other half of k
    unsigned t = threadIdx.x, row = t / 32 * 16 + t % 32 / 4, c = t % 4;
    if (t < 64) tile[t / 8 * 4 + t % 8 / 4 * 32 + t % 4] = b[t];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    unsigned long long of_b = (unsigned)__cvta_generic_to_shared(tile) >> 4 | 8ull << 16 | 16ull << 32;
    float d[4] = {};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[row * 8 + c]), "r"(a[(row + 8) * 8 + c]), "r"(a[row * 8 + c + 4]),
                   "r"(a[(row + 8) * 8 + c + 4]), "l"(of_b) : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int n = 0; n < 4; n++) out[(row + n / 2 * 8) * 8 + c * 2 + n % 2] = d[n];
}
"""


def test_a_warp_group_takes_rows_of_8_bits_from_registers():
    (a, b), bits = _matrices(64)
    out = np.zeros((64, 8), np.float32)
    assert smemviz.cuda_cpp(GROUPS)["k"][1, 128](out.reshape(-1), *bits).findings == ()
    assert (out == a @ b.T).all()
