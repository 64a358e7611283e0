"""Programs in CUDA C++ with a ``main()``, and what they print."""

TURN = """\
    #include <cstdio>
    #define TILE 32
    __global__ void turn(float *out, const float *in, int n) {
        __shared__ float tile[TILE][TILE];
        int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
        tile[threadIdx.y][threadIdx.x] = in[y * n + x];
        __syncthreads();
        out[(blockIdx.x * TILE + threadIdx.y) * n + blockIdx.y * TILE + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
    }
    int main(int argc, char **argv) {
        const int n = 64;
        static float host[n * n];
        for (int i = 0; i < n * n; i++) host[i] = i;
        float *in, *out;
        cudaMalloc(&in, sizeof host);
        cudaMalloc(&out, sizeof host);
        cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
        dim3 block(TILE, TILE);
        dim3 grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
        for (int i = 0; i < 10; i++) turn<<<grid, block>>>(out, in, n);
        cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
        int wrong = 0;
        for (int i = 0; i < n * n; i++) wrong += host[i] != i % n * n + i / n;
        printf("%d wrong, %d arguments\\n", wrong, argc - 1);
    }
"""

CALLS = """\
    #include <chrono>
    #include <cooperative_groups.h>
    #include <cstdio>
    #include <vector>
    namespace cg = cooperative_groups;
    using namespace std;
    using namespace std::chrono;
    #define LAUNCH(k, g, b, ...) k<<<g, b>>>(__VA_ARGS__)
    __constant__ float weights[4];
    __device__ int counter = 5;
    __managed__ int seen = 1;
    struct Pair { int a; double b; };
    namespace inner {
    template <typename T, int S = 32> __global__ void scale(T *out, const T *in, T by) {
        __shared__ T s[S];
        int i = blockIdx.x * S + threadIdx.x;
        s[threadIdx.x] = in[i] * by;
        __syncthreads();
        out[i] = s[threadIdx.x];
    }
    }
    namespace {
    __global__ void weigh(float *out) {
        out[threadIdx.x] = weights[threadIdx.x % 4];
        if (threadIdx.x == 0) { counter += 1; seen += 41; }
    }
    }
    static __global__ void both(Pair p, double *out, int) { out[0] = p.a + p.b; printf("device %d\\n", p.a); }
    extern "C" __global__ void plain(int *out) { out[threadIdx.x + threadIdx.y * blockDim.x] = 2; }
    __global__ void whole(int *out, int n) {
        cg::grid_group grid = cg::this_grid();
        out[grid.thread_rank()] = 1;
        grid.sync();
        if (grid.thread_rank() == 0) { int s = 0; for (int i = 0; i < n; i++) s += out[i]; out[0] = s; }
    }
    __global__ void dynamic(float *out) {
        extern __shared__ float s[];
        s[threadIdx.x] = threadIdx.x;
        __syncthreads();
        out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
    }
    template <typename T> T scaled(T by) {
        vector<T> in(64), out(64);
        for (int i = 0; i < 64; i++) in[i] = i;
        T *a, *b;
        cudaMalloc(&a, 64 * sizeof(T));
        cudaMalloc((void **)&b, 64 * sizeof(T));
        cudaMemcpy(a, in.data(), 64 * sizeof(T), cudaMemcpyHostToDevice);
        inner::scale<T><<<64 / 32, 32>>>(b, a, by);
        cudaMemcpy(out.data(), b, 64 * sizeof(T), cudaMemcpyDeviceToHost);
        cudaFree(a);
        cudaFree(b);
        return out[63];
    }
    int main() {
        auto from = steady_clock::now();
        printf("scaled %g %g %d\\n", scaled<float>(2), scaled<double>(0.5), scaled<int>(3));
        float w[4] = {1, 2, 3, 4}, *out, h[64];
        cudaMemcpyToSymbol(weights, w, sizeof w);
        cudaMalloc(&out, 4096);
        weigh<<<1, 64>>>(out);
        cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
        int c;
        cudaMemcpyFromSymbol(&c, counter, sizeof c);
        printf("weights %g %g counter %d seen %d\\n", h[0], h[3], c, seen);
        double *managed;
        cudaMallocManaged(&managed, 8);
        both<<<1, 1>>>(Pair{3, 0.25}, managed, 7);
        cudaDeviceSynchronize();
        printf("managed %g\\n", *managed);
        int *p, n = 128, sum;
        cudaMalloc(&p, 4096);
        cudaMemset(p, 1, 4096);
        cudaMemcpy(&sum, p + 1023, 4, cudaMemcpyDeviceToHost);
        printf("set %x\\n", sum);
        void (*pointer)(int *) = plain;
        pointer<<<1, 32>>>(p);
        LAUNCH(plain, 1, dim3(16, 2), p);
        void *one[] = {&p}, *two[] = {&p, &n};
        printf("%d\\n", cudaLaunchKernel((void *)plain, dim3(1), dim3(32), one, 0, 0));
        cudaLaunchCooperativeKernel((void *)whole, dim3(4), dim3(32), two, 0, 0);
        cudaMemcpy(&sum, p, 4, cudaMemcpyDeviceToHost);
        printf("sum %d\\n", sum);
        plain<<<1, 2048>>>(p);
        printf("%s\\n", cudaGetErrorName(cudaGetLastError()));
        dynamic<<<1, 1024, 60000>>>(out);
        printf("%s, then ", cudaGetErrorString(cudaGetLastError()));
        printf("%s\\n", cudaGetErrorString(cudaGetLastError()));
        cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000);
        dynamic<<<1, 1024, 60000>>>(out);
        printf("%s\\n", cudaGetErrorString(cudaGetLastError()));
        cudaDeviceProp of;
        cudaGetDeviceProperties(&of, 0);
        printf("%d SMs, %zu bytes\\n", of.multiProcessorCount, of.sharedMemPerBlock);
        cudaEvent_t a, b;
        cudaEventCreate(&a);
        cudaEventCreate(&b);
        float ms;
        cudaEventElapsedTime(&ms, a, b);
        printf("%s\\n", cudaGetErrorString(cudaMemcpy(h, out, 1 << 20, cudaMemcpyDeviceToHost)));
        return ms == ms;
    }
"""
PRINTED = """\
scaled 126 31.5 189
weights 1 4 counter 6 seen 42
device 3
managed 3.25
set 1010101
0
sum 128
cudaErrorInvalidConfiguration
invalid argument, then no error
no error
132 SMs, 49152 bytes
invalid argument
"""
