// C = A B^T of halves by the tensor cores of Hopper: wgmma reads both operands from shared memory.
//
// Tiles of 64 x 64 come by tensor copies into two stages, so that one is fetched while the other is multiplied. A
// descriptor tells wgmma where a tile is and which swizzle the copy used; the tensor cores undo it as they read, and
// no layout that a descriptor can name has conflicts.

#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <cstdlib>

constexpr int M = 128, N = 128, K = 256;
constexpr int TILE = 64;      // rows of A and of B, and columns of both: a row has 128 bytes
constexpr int STAGES = 2;
constexpr int THREADS = 128;  // a warp group

struct Stage {
    __half a[TILE * TILE], b[TILE * TILE];
};

__device__ unsigned address(const void *pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

__device__ void copy(__half *tile, const CUtensorMap *map, int k, int row, unsigned long long *full) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(address(tile)),
                 "l"(map), "r"(k), "r"(row), "r"(address(full))
                 : "memory");
}

// Fetch a tile of A and one of B; their bytes complete a phase of the barrier.
__device__ void fetch(Stage *stage, const CUtensorMap *a, const CUtensorMap *b, int k, unsigned long long *full) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(full)), "r"((int)sizeof(Stage))
                 : "memory");
    copy(stage->a, a, k, blockIdx.y * TILE, full);
    copy(stage->b, b, k, blockIdx.x * TILE, full);
}

__device__ void wait(unsigned long long *full, int parity) {
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(address(full)), "r"(parity)
                     : "memory");
}

// Describe a tile with a swizzle of 128 bytes: 8 rows take 1,024 bytes, and the next 8 follow.
__device__ unsigned long long descriptor(const __half *tile) {
    return (address(tile) & 0x3FFFF) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

// Add 64 x 16 of A times 16 x 64 of B.
__device__ void multiply(float *d, unsigned long long a, unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
        "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
          "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
          "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b));
}

// A block has 64 x 64 of the product; k advances by a tile, and wgmma by 16 columns of it, 32 bytes.
__global__ void __launch_bounds__(THREADS)
    product(float *c, const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b) {
    __shared__ __align__(1024) Stage stages[STAGES];
    __shared__ unsigned long long full[STAGES];
    int t = threadIdx.x;
    if (t == 0) {
        for (int s = 0; s < STAGES; s++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&full[s])));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        fetch(&stages[0], &a, &b, 0, &full[0]);
    }
    __syncthreads();
    float d[32] = {};
    for (int n = 0; n < K / TILE; n++) {
        Stage *stage = &stages[n % STAGES];
        if (t == 0 && n + 1 < K / TILE)  // nobody reads the other stage any more
            fetch(&stages[(n + 1) % STAGES], &a, &b, (n + 1) * TILE, &full[(n + 1) % STAGES]);
        wait(&full[n % STAGES], n / STAGES % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int k = 0; k < TILE; k += 16)
            multiply(d, descriptor(stage->a) + k * 2 / 16, descriptor(stage->b) + k * 2 / 16);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
    int row = blockIdx.y * TILE + t / 32 * 16 + t % 32 / 4, column = blockIdx.x * TILE + t % 4 * 2;
    for (int i = 0; i < 32; i += 2)
        *(float2 *)&c[(row + i / 2 % 2 * 8) * N + column + i / 4 * 8] = make_float2(d[i], d[i + 1]);
}

// Describe a matrix and its tiles to the copy engine. The function that does it is the driver's.
static CUtensorMap map_of(void *matrix, int rows) {
    void *encode;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found);
    CUtensorMap map;
    cuuint64_t sizes[] = {K, (cuuint64_t)rows}, strides[] = {K * sizeof(__half)};
    cuuint32_t box[] = {TILE, TILE}, steps[] = {1, 1};
    CUresult error = ((decltype(&cuTensorMapEncodeTiled))encode)(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, matrix, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (error) printf("no tensor map: error %d\n", error), exit(1);
    return map;
}

int main() {
    static __half a[M * K], b[N * K];
    static float c[M * N];
    for (int i = 0; i < M * K; i++) a[i] = __float2half(i * 7 % 11 - 5);
    for (int i = 0; i < N * K; i++) b[i] = __float2half(i * 5 % 13 - 6);
    __half *of_a, *of_b;
    float *of_c;
    cudaMalloc(&of_a, sizeof a);
    cudaMalloc(&of_b, sizeof b);
    cudaMalloc(&of_c, sizeof c);
    cudaMemcpy(of_a, a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemcpy(of_b, b, sizeof b, cudaMemcpyHostToDevice);
    product<<<dim3(N / TILE, M / TILE), THREADS>>>(of_c, map_of(of_a, M), map_of(of_b, N));
    if (cudaError_t error = cudaDeviceSynchronize()) return printf("%s\n", cudaGetErrorString(error)), 1;
    cudaMemcpy(c, of_c, sizeof c, cudaMemcpyDeviceToHost);
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
