// A matrix turned by way of shared memory: tiles come by tensor copies, and ldmatrix reads them turned.
//
// A tensor copy stores rows of 128 bytes one below the other, and 8 rows of a column are in the same 4 banks: each
// matrix that ldmatrix reads costs 8 wavefronts. With CU_TENSOR_MAP_SWIZZLE_128B the copy exchanges the pieces of 16
// bytes of each row as it stores them, a reader takes piece p of row r at p ^ r % 8, and a matrix is one wavefront.

#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <cstdlib>

constexpr int SIZE = 128;     // rows and columns of the matrix
constexpr int TILE = 64;      // and of a tile: a row has 128 bytes
constexpr int THREADS = 128;  // four warps, each turns 16 rows of a tile

__device__ unsigned address(const void *pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

// Fetch a tile by one thread, and let all wait until its bytes are there.
__device__ void fetch(__half *tile, const CUtensorMap *map, unsigned long long *arrived, int column, int row) {
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(arrived)));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(arrived)),
                     "r"((int)sizeof(__half) * TILE * TILE)
                     : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];" ::"r"(address(tile)),
                     "l"(map), "r"(column), "r"(row), "r"(address(arrived))
                     : "memory");
    }
    __syncthreads();
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(address(arrived))
                     : "memory");
}

// Read 16 rows of a tile, 16 columns at a time, and store them as columns.
__device__ void store_turned(__half *out, const __half *tile, int column, int row, int swizzle) {
    int lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16;
    for (int c = 0; c < TILE; c += 16) {
        int r = first + lane % 16, piece = c / 8 + lane / 16;
        const __half *from = tile + r * TILE + (piece ^ r % 8 * swizzle) * 8;
        unsigned part[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(part[0]), "=r"(part[1]), "=r"(part[2]), "=r"(part[3])
                     : "r"(address(from))
                     : "memory");
        for (int i = 0; i < 4; i++) {
            int x = row + first + i % 2 * 8 + lane % 4 * 2, y = column + c + i / 2 * 8 + lane / 4;
            *(unsigned *)&out[y * SIZE + x] = part[i];
        }
    }
}

// Rows lie as they come: the pieces of a column are in the same banks.
__global__ void __launch_bounds__(THREADS) turn_plain(__half *out, const __grid_constant__ CUtensorMap map) {
    __shared__ __align__(1024) __half tile[TILE * TILE];
    __shared__ unsigned long long arrived;
    fetch(tile, &map, &arrived, blockIdx.x * TILE, blockIdx.y * TILE);
    store_turned(out, tile, blockIdx.x * TILE, blockIdx.y * TILE, 0);
}

// The copy swizzles the rows, and the reader looks for a piece where the swizzle has put it.
__global__ void __launch_bounds__(THREADS) turn_swizzled(__half *out, const __grid_constant__ CUtensorMap map) {
    __shared__ __align__(1024) __half tile[TILE * TILE];
    __shared__ unsigned long long arrived;
    fetch(tile, &map, &arrived, blockIdx.x * TILE, blockIdx.y * TILE);
    store_turned(out, tile, blockIdx.x * TILE, blockIdx.y * TILE, 1);
}

// Describe the matrix and its tiles to the copy engine. The function that does it is the driver's.
static CUtensorMap map_of(void *matrix, CUtensorMapSwizzle swizzle) {
    void *encode;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found);
    CUtensorMap map;
    cuuint64_t sizes[] = {SIZE, SIZE}, strides[] = {SIZE * sizeof(__half)};
    cuuint32_t box[] = {TILE, TILE}, steps[] = {1, 1};
    CUresult error = ((decltype(&cuTensorMapEncodeTiled))encode)(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, matrix, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (error) printf("no tensor map: error %d\n", error), exit(1);
    return map;
}

int main() {
    static __half matrix[SIZE * SIZE], turned[SIZE * SIZE];
    for (int i = 0; i < SIZE * SIZE; i++) matrix[i] = __float2half(i % 2039);
    __half *in, *out;
    cudaMalloc(&in, sizeof matrix);
    cudaMalloc(&out, sizeof turned);
    cudaMemcpy(in, matrix, sizeof matrix, cudaMemcpyHostToDevice);
    dim3 grid(SIZE / TILE, SIZE / TILE);
    int wrong = 0;
    for (int swizzled = 0; swizzled < 2; swizzled++) {
        cudaMemset(out, 0, sizeof turned);
        if (swizzled)
            turn_swizzled<<<grid, THREADS>>>(out, map_of(in, CU_TENSOR_MAP_SWIZZLE_128B));
        else
            turn_plain<<<grid, THREADS>>>(out, map_of(in, CU_TENSOR_MAP_SWIZZLE_NONE));
        if (cudaError_t error = cudaDeviceSynchronize()) return printf("%s\n", cudaGetErrorString(error)), 1;
        cudaMemcpy(turned, out, sizeof turned, cudaMemcpyDeviceToHost);
        for (int r = 0; r < SIZE; r++)
            for (int c = 0; c < SIZE; c++)
                wrong += __half2float(turned[c * SIZE + r]) != __half2float(matrix[r * SIZE + c]);
    }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
