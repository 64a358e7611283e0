// Adding up an array: which threads add which elements decides who collides.
//
// Every kernel leaves one sum per block. Neighbours are added in steps of 1, 2, 4 and so on; if the threads that work
// are kept close together, their elements lie ever further apart, and in one bank. Adding the upper half to the lower
// half keeps both close together. Within a warp shuffles hand values from lane to lane, by no memory at all.

#define N 1024
#define THREADS 256
#define WARPS (THREADS / 32)
#define EVERY_LANE 0xFFFFFFFFu

constexpr int BLOCKS = (N + THREADS - 1) / THREADS;

// smemviz: neighbours_in_global_memory<<<BLOCKS, THREADS>>>(zeros(BLOCKS), arange(BLOCKS * THREADS))
// smemviz: neighbours_by_spread_threads<<<BLOCKS, THREADS>>>(zeros(BLOCKS), arange(BLOCKS * THREADS))
// smemviz: neighbours_by_close_threads<<<BLOCKS, THREADS>>>(zeros(BLOCKS), arange(BLOCKS * THREADS))
// smemviz: halves<<<BLOCKS, THREADS>>>(zeros(BLOCKS), arange(BLOCKS * THREADS))
// smemviz: shuffles<<<BLOCKS, THREADS>>>(zeros(BLOCKS), arange(BLOCKS * THREADS))

// Neighbours first, in place, in global memory.
__global__ void neighbours_in_global_memory(int *sums, int *values) {
    int t = threadIdx.x;
    int i = blockIdx.x * THREADS + t;
    for (int step = 1; step < THREADS; step *= 2) {
        if (t % (2 * step) == 0)
            values[i] += values[i + step];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = values[i];
}

// Neighbours first; ever fewer threads of every warp work.
__global__ void neighbours_by_spread_threads(int *sums, const int *values) {
    __shared__ int held[THREADS];
    int t = threadIdx.x;
    held[t] = values[blockIdx.x * THREADS + t];
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        if (t % (2 * step) == 0)
            held[t] += held[t + step];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = held[0];
}

// Neighbours first; the first threads work, on elements that lie ever further apart.
__global__ void neighbours_by_close_threads(int *sums, const int *values) {
    __shared__ int held[THREADS];
    int t = threadIdx.x;
    held[t] = values[blockIdx.x * THREADS + t];
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        int i = 2 * step * t;
        if (i < THREADS)
            held[i] += held[i + step];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = held[0];
}

// The upper half to the lower half, again and again.
__global__ void halves(int *sums, const int *values) {
    __shared__ int held[THREADS];
    int t = threadIdx.x;
    held[t] = values[blockIdx.x * THREADS + t];
    __syncthreads();
    for (int step = THREADS / 2; step > 0; step /= 2) {
        if (t < step)
            held[t] += held[t + step];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = held[0];
}

// Halves within each warp, from register to register; shared memory only carries one sum per warp.
__global__ void shuffles(int *sums, const int *values) {
    __shared__ int held[WARPS];
    int t = threadIdx.x;
    int total = values[blockIdx.x * THREADS + t];
    for (int step = 16; step > 0; step /= 2)
        total += __shfl_down_sync(EVERY_LANE, total, step);
    if (t % 32 == 0)
        held[t / 32] = total;
    __syncthreads();
    if (t < 32) {
        total = t < WARPS ? held[t] : 0;
        for (int step = 16; step > 0; step /= 2)
            total += __shfl_down_sync(EVERY_LANE, total, step);
        if (t == 0)
            sums[blockIdx.x] = total;
    }
}
