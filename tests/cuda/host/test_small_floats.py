"""Floats of 4, 6 and 8 bits: what a kernel converts, against what CUDA's headers do on a host."""

from collections.abc import Callable
from pathlib import Path

import pytest

import smemviz

Write = Callable[..., Path]

CONVERTED = r"""
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
template <class F> __host__ __device__ void convert(unsigned *out, float2 v, unsigned short bits, F) {
    __half2_raw h, wide[5];
    h.x = __half_raw(__float2half(v.x)).x, h.y = __half_raw(__float2half(v.y)).x;
    out[0] = __nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, __NV_E4M3);
    out[1] = __nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, __NV_E5M2);
    out[2] = __nv_cvt_halfraw2_to_fp8x2(h, __NV_SATFINITE, __NV_E4M3);
    out[3] = __nv_cvt_halfraw2_to_fp8x2(h, __NV_SATFINITE, __NV_E5M2);
    out[4] = __nv_cvt_float2_to_fp6x2(v, __NV_E2M3, cudaRoundNearest);
    out[5] = __nv_cvt_float2_to_fp6x2(v, __NV_E3M2, cudaRoundNearest);
    out[6] = __nv_cvt_float2_to_fp4x2(v, __NV_E2M1, cudaRoundNearest);
    out[7] = __nv_cvt_float2_to_e8m0x2(v, __NV_SATFINITE, cudaRoundZero);
    out[8] = __nv_cvt_float2_to_e8m0x2(v, __NV_SATFINITE, cudaRoundPosInf);
    wide[0] = __nv_cvt_fp8x2_to_halfraw2(bits, __NV_E4M3);
    wide[1] = __nv_cvt_fp8x2_to_halfraw2(bits, __NV_E5M2);
    wide[2] = __nv_cvt_fp6x2_to_halfraw2(bits & 0x3f3f, __NV_E2M3);
    wide[3] = __nv_cvt_fp6x2_to_halfraw2(bits & 0x3f3f, __NV_E3M2);
    wide[4] = __nv_cvt_fp4x2_to_halfraw2(bits & 0xff, __NV_E2M1);
    for (int n = 0; n < 5; n++) out[9 + n] = wide[n].x | wide[n].y << 16;
    __nv_bfloat162_raw scale = __nv_cvt_e8m0x2_to_bf162raw(bits);
    out[14] = scale.x | scale.y << 16;
}
__device__ void on_device(unsigned *out, float2 v, unsigned short bits) {
    unsigned h;
    unsigned short s[9];
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(v.y), "f"(v.x));
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(s[0]) : "f"(v.y), "f"(v.x));
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(s[1]) : "f"(v.y), "f"(v.x));
    asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(s[2]) : "r"(h));
    asm("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;" : "=h"(s[3]) : "r"(h));
    asm("cvt.rn.satfinite.e2m3x2.f32 %0, %1, %2;" : "=h"(s[4]) : "f"(v.y), "f"(v.x));
    asm("cvt.rn.satfinite.e3m2x2.f32 %0, %1, %2;" : "=h"(s[5]) : "f"(v.y), "f"(v.x));
    asm("{ .reg .b8 b; cvt.rn.satfinite.e2m1x2.f32 b, %1, %2; mov.b16 %0, {b, 0}; }"
        : "=h"(s[6]) : "f"(v.y), "f"(v.x));
    asm("cvt.rz.satfinite.ue8m0x2.f32 %0, %1, %2;" : "=h"(s[7]) : "f"(v.y), "f"(v.x));
    asm("cvt.rp.satfinite.ue8m0x2.f32 %0, %1, %2;" : "=h"(s[8]) : "f"(v.y), "f"(v.x));
    for (int n = 0; n < 9; n++) out[n] = s[n];
    unsigned short six = bits & 0x3f3f;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(out[9]) : "h"(bits));
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(out[10]) : "h"(bits));
    asm("cvt.rn.f16x2.e2m3x2 %0, %1;" : "=r"(out[11]) : "h"(six));
    asm("cvt.rn.f16x2.e3m2x2 %0, %1;" : "=r"(out[12]) : "h"(six));
    asm("{ .reg .b8 b, c; mov.b16 {b, c}, %1; cvt.rn.f16x2.e2m1x2 %0, b; }" : "=r"(out[13]) : "h"(bits));
    asm("cvt.rn.bf16x2.ue8m0x2 %0, %1;" : "=r"(out[14]) : "h"(bits));
}
__global__ void k(unsigned *out, const float2 *v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    on_device(out + 15 * i, v[i], i * 0x0101 ^ (i >> 8) * 0x37);
}
int main() {
    const int n = 4096;
    static float2 v[n];
    static unsigned got[n * 15];
    float odd[] = {0.f, -0.f, 1.f, 0.5f, 448.f, 464.f, 465.f, 480.f, -1e9f, 57344.f, 61440.f, 1e-3f, 0.25f, 0.75f, 6.f,
                   5.f, 7.f, 0x1p-127f, 0x1p-140f, 0x1.8p127f, 0x1p-9f, 0x1.8p-10f, 0x1p-10f, 7.5f, 28.f, 30.f,
                   1.f / 0.f, -1.f / 0.f, 0.f / 0.f};
    srand(1);
    for (int i = 0; i < n; i++) {
        for (float *x : {&v[i].x, &v[i].y}) {
            unsigned bits = (unsigned)rand() << 16 ^ (unsigned)rand();
            if (i % 3) memcpy(x, &bits, 4);
            else *x = odd[rand() % 29] * (i % 2 ? 1 : rand() % 8);
        }
        if (i % 3 == 1) v[i].x = (rand() % 4096 - 2048) / 256.f;
    }
    float2 *of_v;
    unsigned *of_out;
    cudaMalloc(&of_v, sizeof v), cudaMalloc(&of_out, sizeof got);
    cudaMemcpy(of_v, v, sizeof v, cudaMemcpyHostToDevice);
    k<<<n / 128, 128>>>(of_out, of_v);
    cudaMemcpy(got, of_out, sizeof got, cudaMemcpyDeviceToHost);
    int wrong[15] = {};
    for (int i = 0; i < n; i++) {
        unsigned want[15];
        convert(want, v[i], i * 0x0101 ^ (i >> 8) * 0x37, 0);
        for (int c = 0; c < 15; c++)
            if (want[c] != got[15 * i + c] && !wrong[c]++)
                printf("%d: %g %g: %x, not %x\n", c, v[i].x, v[i].y, got[15 * i + c], want[c]);
    }
    for (int c = 0; c < 15; c++) printf("%d ", wrong[c]);
    printf("wrong\n");
}
"""


@pytest.mark.exhaustive
def test_conversions_are_those_of_the_headers_on_a_host(write, capsys):
    smemviz.run(write(floats_cu=CONVERTED))
    assert capsys.readouterr().out == 15 * "0 " + "wrong\n"
