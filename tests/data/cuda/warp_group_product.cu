// C = A B^T of halves by a warp group: tiles come by tensor copies, swizzled, two stages ahead; each cluster shares B.
#include <cuda.h>
#include <cuda_fp16.h>
#include <cstdio>
#include <cstdlib>
constexpr int M = 256, N = 64, K = 256, TM = 64, TN = 64, TK = 64, STAGES = 2;

__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void wait(unsigned long long *bar, int parity) {
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(at(bar)), "r"(parity) : "memory");
}
__device__ void fetch(const CUtensorMap *map, void *to, int k, int row, unsigned long long *bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(at(to)), "l"(map), "r"(k), "r"(row), "r"(at(bar)) : "memory");
}
__device__ void fetch_for_all(const CUtensorMap *map, void *to, int k, int row, unsigned long long *bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;"
                 :: "r"(at(to)), "l"(map), "r"(k), "r"(row), "r"(at(bar)), "h"((unsigned short)3) : "memory");
}
__device__ unsigned long long described(const void *tile) {
    return (at(tile) & 0x3FFFF) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;  // rows of 128 bytes, 8 of them 1,024 apart
}

__global__ void __launch_bounds__(128) gemm(float *c, const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __half (*as)[TM * TK] = (__half (*)[TM * TK])memory, (*bs)[TN * TK] = (__half (*)[TN * TK])(memory + sizeof(__half) * STAGES * TM * TK);
    unsigned long long *full = (unsigned long long *)(memory + sizeof(__half) * STAGES * (TM + TN) * TK);
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    const int t = threadIdx.x, row = blockIdx.x * TM;
    if (t == 0) {
        for (int s = 0; s < STAGES; s++) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&full[s])));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    float d[32] = {};
    for (int k = 0, n = 0; k < K; k += TK, n++) {
        const int s = n % STAGES;
        if (t == 0)
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(&full[s])), "r"((TM + TN) * TK * 2) : "memory");
        asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
        if (t == 0) {
            fetch(&a, as[s], k, row, &full[s]);
            if (rank == 0) fetch_for_all(&b, bs[s], k, 0, &full[s]);
        }
        wait(&full[s], n / STAGES % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int inner = 0; inner < TK; inner += 16)
            asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
                "%24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]),
                  "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]),
                  "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                  "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                : "l"(described(as[s]) + inner * 2 / 16), "l"(described(bs[s]) + inner * 2 / 16));
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    for (int n = 0; n < 32; n++)
        c[(row + t / 32 * 16 + t % 32 / 4 + n % 4 / 2 * 8) * N + t % 4 * 2 + n % 2 + n / 4 * 8] = d[n];
}

static CUtensorMap map_of(void *encode, void *data, int rows, int box) {
    CUtensorMap map;
    cuuint64_t sizes[] = {K, (cuuint64_t)rows}, strides[] = {K * sizeof(__half)};
    cuuint32_t boxes[] = {TK, (cuuint32_t)box}, steps[] = {1, 1};
    CUresult error = ((decltype(&cuTensorMapEncodeTiled))encode)(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, data, sizes, strides, boxes, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (error) printf("map: %d\n", error), exit(1);
    return map;
}

int main() {
    static __half a[M * K], b[N * K];
    static float c[M * N];
    for (int i = 0; i < M * K; i++) a[i] = __float2half(i * 7 % 11 - 5);
    for (int i = 0; i < N * K; i++) b[i] = __float2half(i * 5 % 13 - 6);
    void *da, *db, *encode;
    float *dc;
    cudaMalloc(&da, sizeof a), cudaMalloc(&db, sizeof b), cudaMalloc(&dc, sizeof c);
    cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice), cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found);
    const int bytes = STAGES * ((TM + TN) * TK * sizeof(__half) + sizeof(unsigned long long));
    cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    cudaLaunchAttribute cluster;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = 2, cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t how = {};
    how.gridDim = M / TM, how.blockDim = 128, how.dynamicSmemBytes = bytes, how.attrs = &cluster, how.numAttrs = 1;
    cudaLaunchKernelEx(&how, gemm, dc, map_of(encode, da, M, TM), map_of(encode, db, N, TN));
    if (cudaError_t error = cudaDeviceSynchronize()) return printf("%s\n", cudaGetErrorString(error)), 1;
    cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            float sum = 0;
            for (int k = 0; k < K; k++) sum += __half2float(a[m * K + k]) * __half2float(b[n * K + k]);
            wrong += c[m * N + n] != sum;
        }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
