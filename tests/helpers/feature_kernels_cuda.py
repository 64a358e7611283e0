"""Kernels in CUDA C++ that reach memory in every way that is followed, one way each."""

TEXT = r"""
// smemviz: wide<<<2, dim3(32, 2)>>>(random(512))
// smemviz: pairs<<<1, 96>>>(random(192))
// smemviz: doubles<<<1, 64>>>(zeros(64))
// smemviz: bytes<<<1, 64>>>(zeros(256), random(64))
// smemviz: early<<<2, 50>>>(zeros(100), 37)
// smemviz: parted<<<1, 64>>>(zeros(64))
// smemviz: local<<<1, 32>>>(zeros(32), random(32), 3)
// smemviz: either<<<1, 64>>>(zeros(64), random(64))
// smemviz: counted<<<2, 64>>>(zeros(8), random(128))
// smemviz: helped<<<1, 64>>>(zeros(64), random(64))
// smemviz: copied<<<1, 64>>>(zeros(256), random(256))
// smemviz: padded<<<1, 64>>>(zeros(512), random(300), 100)
// smemviz: matrices<<<1, 32>>>(zeros(256))
// smemviz: remembered<<<1, 32>>>(zeros(64))
// smemviz: nameless<<<1, 32>>>(zeros(32))
// smemviz: talking<<<1, 32>>>(zeros(32))
// smemviz: sizes<<<dim3(2, 2, 2), dim3(4, 4, 3)>>>(zeros(384))
// smemviz: scaled<<<1, 32>>>(zeros(32), 4, 2.5)
// smemviz: rounds<<<2, 64>>>(zeros(128), 16, random(512))
// smemviz: stays<<<2, 64>>>(zeros(128), random(512), 8)
// smemviz: conditions<<<1, 64>>>(zeros(64), arange(64), 20)

__global__ void wide(float *data) {
    __shared__ float4 tile[64];
    int i = threadIdx.x + 32 * threadIdx.y;
    float4 *at = (float4 *)data + blockIdx.x * 64;
    tile[i] = at[i];
    __syncthreads();
    at[i] = tile[(i * 3) % 64];
}

__global__ void pairs(float *data) {
    __shared__ float2 tile[96];
    int i = threadIdx.x;
    tile[i] = ((float2 *)data)[i];
    __syncthreads();
    ((float2 *)data)[i] = tile[i / 2];
}

__global__ void doubles(double *data) {
    __shared__ double tile[33 * 64];
    tile[threadIdx.x * 33] = threadIdx.x * 0.5;
    __syncthreads();
    data[threadIdx.x] = tile[threadIdx.x * 33] + 1;
}

__global__ void bytes(unsigned char *out, const unsigned char *in) {
    __shared__ unsigned char tile[64];
    __shared__ short wide[64];
    tile[63 - threadIdx.x] = in[threadIdx.x];
    wide[threadIdx.x] = (short)(in[threadIdx.x] - 100);
    __syncthreads();
    out[threadIdx.x * 4] = tile[threadIdx.x] + (unsigned char)wide[threadIdx.x ^ 1];
}

__global__ void early(int *out, int n) {
    __shared__ int tile[64];
    int i = threadIdx.x;
    if (i >= n) return;
    tile[i] = i;
    if (i % 3 == 0) { out[blockIdx.x * 50 + i] = tile[i]; return; }
    out[blockIdx.x * 50 + i] = -tile[i];
}

__global__ void parted(int *out) {
    __shared__ int odd[64], even[64];
    int i = threadIdx.x;
    odd[i] = 0;
    for (int k = 0; k <= i % 4; k++) {
        if (k % 2) odd[i] = k; else even[63 - i] = k;
    }
    __syncthreads();
    if (i < 20) out[i] = odd[i]; else if (i < 50) out[i] = even[i] + 1; else out[i] = 0;
}

__device__ int sum_of(const int *values, int n) {
    int total = 0;
    for (int i = 0; i < n; i++) total += values[i];
    return total;
}

__global__ void local(int *out, const int *in, int n) {
    int own[8];
    __shared__ int tile[32];
    for (int i = 0; i < 8; i++) own[(i * n) % 8] = in[(threadIdx.x + i) % 32];
    tile[threadIdx.x] = sum_of(own, n);
    __syncthreads();
    out[threadIdx.x] = sum_of(tile, n) + sum_of(in, n) + own[threadIdx.x % 8];
}

__global__ void either(float *out, const float *in) {
    __shared__ float tile[64];
    float own[2] = {1, 2};
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    const float *from = threadIdx.x % 3 == 0 ? tile : threadIdx.x % 3 == 1 ? in : own;
    out[threadIdx.x] = from[threadIdx.x % 3 == 2 ? threadIdx.x % 2 : threadIdx.x];
}

__global__ void counted(unsigned *out, const unsigned *in) {
    __shared__ unsigned bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    unsigned bin = (threadIdx.x * 5 + threadIdx.x / 7) % 8;
    atomicAdd(&bins[bin], 1u);
    atomicAdd(&bins[bin], threadIdx.x);
    unsigned was = atomicMax(&bins[threadIdx.x / 32], 1000u + threadIdx.x);
    atomicExch(&bins[7], was & 0);
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(&out[threadIdx.x], bins[threadIdx.x] & 15);
}

template <class T> __device__ T moved(const T *from, int at) { return from[at]; }
struct Two { float a; char b; };
__device__ Two made(float a, char b) { Two two; two.a = a; two.b = b; return two; }

__global__ void helped(float *out, const float *in) {
    __shared__ float tile[64];
    tile[threadIdx.x] = moved(in, threadIdx.x);
    __syncthreads();
    Two two = made(moved(tile, 63 - threadIdx.x), (char)(threadIdx.x - 40));
    out[threadIdx.x] = two.a + two.b;
}

__global__ void copied(float *out, const float *in) {
    __shared__ __align__(16) float tile[256];
    unsigned to = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x * 4]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(to), "l"(in + threadIdx.x * 4));
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;");
    __syncthreads();
    for (int i = 0; i < 4; i++) out[threadIdx.x + 64 * i] = tile[(threadIdx.x + 64 * i) ^ 1];
}

// Of 16 bytes each lane reads as many as are left of its row, in some rounds of some warps none.
__global__ void padded(float *out, const float *in, int width) {
    __shared__ __align__(16) float tile[512];
    unsigned to = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x * 4]);
    for (int row = 0; row < 3; row++) {
        int left = width - row * 9 - (int)threadIdx.x * 4;
        int bytes = left < 0 ? 0 : left > 4 ? 16 : left * 4;
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                     :: "r"(to), "l"(in + row * width + threadIdx.x * 4), "r"(bytes));
        asm volatile("{ .reg .pred none; setp.eq.s32 none, %2, 0; cp.async.ca.shared.global [%0], [%1], 16, none; }"
                     :: "r"(to + 1024), "l"(in + threadIdx.x * 4), "r"(bytes & 7));
        asm volatile("cp.async.wait_all;");
        __syncthreads();
        for (int i = 0; i < 8; i++) out[threadIdx.x + 64 * i] += tile[threadIdx.x + 64 * i];
        __syncthreads();
    }
}

__global__ void matrices(unsigned *out) {
    __shared__ __align__(16) unsigned short tile[256];
    for (int i = 0; i < 8; i++) tile[threadIdx.x + 32 * i] = threadIdx.x * 8 + i;
    __syncwarp();
    unsigned a, b;
    unsigned at = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x % 16 * 16]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
    out[threadIdx.x] = a;
    out[threadIdx.x + 32] = b;
}

__device__ int times = 5;
__device__ int table[4] = {3, 1, 2, 0};
__constant__ int shift[4] = {10, 20, 30, 40};

__global__ void remembered(int *out) {
    out[blockIdx.x * 32 + threadIdx.x] = table[threadIdx.x % 4] * times + shift[threadIdx.x % 4];
    __syncthreads();
    atomicAdd(&times, 0);
    if (threadIdx.x < 4) table[threadIdx.x] = table[threadIdx.x];
}

struct Pair {
    float x, y;
    __device__ constexpr Pair(float x, float y) : x(x), y(y) {}
};
__device__ float sum(const Pair &pair, const int *from, int at) { return pair.x + pair.y * from[at]; }

__global__ void nameless(float *out) {
    int i = threadIdx.x;
    out[i] = sum(Pair(1, 2), shift, i % 4) + (i > 7 ? Pair(3, 4) : Pair(5, 6)).x + table[i % 4];
}

__global__ void talking(int *out) {
    if (threadIdx.x == 3) printf("thread %d\n", threadIdx.x);
    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, threadIdx.x, 1);
}

__global__ void sizes(int *out) {
    __shared__ int tile[3][4][5];
    tile[threadIdx.z][threadIdx.y][threadIdx.x] = threadIdx.x + 10 * threadIdx.y;
    __syncthreads();
    int block = blockIdx.x + 2 * (blockIdx.y + 2 * blockIdx.z);
    out[block * 48 + threadIdx.x + 4 * threadIdx.y + 16 * threadIdx.z] = tile[threadIdx.z][threadIdx.x][threadIdx.y];
}

// Rounds that cost the same, and rounds that only look so: fewer lanes, other distances, less than a word.
__global__ void rounds(int *out, int n, const int *in) {
    __shared__ int tile[2][16][33];
    __shared__ unsigned char small[256];
    __shared__ double wide[128];
    int t = threadIdx.x, warp = t / 32, lane = t % 32, total = 0;
    for (int k = 0; k < n; k++) tile[warp][k][lane] = 3 * k + lane;
    for (int k = 0; k < n / 4; k++) small[4 * t + k] = t + k;
    for (int k = 0; k < n / 8; k++) wide[t + 64 * k] = t;
    __syncthreads();
    for (int k = 0; k < n; k++) total += tile[warp][k][lane] * tile[warp][15 - k][2 * k] + tile[warp][3][k + lane % 7];
    for (int k = t % 5; k < n; k++) total += tile[warp][k][lane];
    for (int k = 0; k < lane; k++) total += tile[warp][3][k];
    for (int k = 0; k < warp * n; k++) total += tile[0][k][lane];
    for (int k = 0; k < n / 2; k++) total += tile[warp][lane % 16][lane % 4 * k];
    for (int k = 0; k < n / 4; k++) total += small[4 * t + k] + small[16 * k + lane];
    for (int k = 0; k < n; k++) total += (int)wide[t / 4 + k];
    if (lane < 20) for (int k = 0; k < n; k++) total += tile[warp][k][31 - lane];
    for (int k = n; k > 0; k--) total += tile[warp][k - 1][lane] * (k & 1 ? 1 : tile[warp][3][k]);
    int found = 0;
    while (tile[warp][found][lane] < 9) found++;
    for (unsigned k = lane; k < 32u; k += 8) total += tile[warp][2][k];
    for (int k = 0; k < n; k++) total += in[k] + in[32 * k] + in[t] + in[8 * k + lane];
    out[blockIdx.x * 64 + t] = total + found;
}

// Rounds with a barrier in them, and lanes that come to one loop at different times.
__global__ void stays(int *out, const int *in, int n) {
    __shared__ int line[64];
    int t = threadIdx.x, total = 0;
    for (int k = 0; k < n; k++) {
        line[t] = in[64 * k + t];
        __syncthreads();
        total += line[63 - t];
        __syncthreads();
    }
    for (int turn = 0; turn < 3; turn++) {
        if ((t + turn) % 3 == 0) continue;
        for (int k = 0; k < n; k++) total += line[(t + turn) % 8 + k];
    }
    out[blockIdx.x * 64 + t] = total;
}

__global__ void conditions(int *out, const int *in, int n) {
    __shared__ int line[64];
    int t = threadIdx.x, total = in[63 - t];
    line[t] = in[t] ^ 5;
    __syncthreads();
    if ((t % 2 && line[63 - t] > 3) || in[t] > n) total = line[t / 2];
    for (int k = 0; k < n; k++) {
        if ((line[k] > t || in[(t + k) % 64] > 40) && total % 3 != 1) continue;
        if (line[(t + k) % 64] == 7 || total > 500) break;
        total += in[k + t % 4];
    }
    for (int k = 0; k < 4; k++)
        if (line[(t + k) % 64] == 9) {
            out[t] = -1;
            return;
        }
    out[t] = total;
}

__global__ void scaled(int *out, signed char by, double times) { out[threadIdx.x] = (int)(threadIdx.x * times) / by; }
"""

# Blocks that wait for each other; its header is found only beside those of CCCL.
TOGETHER = r"""
#include <cooperative_groups.h>

// smemviz: together<<<2, 32>>>(zeros(64))

__global__ void together(int *out) {
    auto grid = cooperative_groups::this_grid();
    out[grid.thread_rank()] = grid.thread_rank();
    grid.sync();
    int other = out[63 - grid.thread_rank()];
    grid.sync();
    out[grid.thread_rank()] = other;
}
"""
