// Reverse an array by way of shared memory, declared statically and dynamically.
//
// Both kernels make the same requests, and neither has a conflict: a warp that reads backwards still finds every lane
// in a bank of its own. The two declarations differ only in who states the size, the kernel or the launch.

#define N 64

// smemviz: static_reverse<<<1, N>>>(arange(N))
// smemviz: dynamic_reverse<<<1, N, N * sizeof(int)>>>(arange(N), N)

// Reverse N values in place; the kernel states the size of the shared array.
__global__ void static_reverse(int *values) {
    __shared__ int held[N];
    int i = threadIdx.x;

    held[i] = values[i];
    __syncthreads();
    values[i] = held[N - 1 - i];
}

// Reverse n values in place; the launch states the size of the shared array.
__global__ void dynamic_reverse(int *values, int n) {
    extern __shared__ int held[];
    int i = threadIdx.x;

    held[i] = values[i];
    __syncthreads();
    values[i] = held[n - 1 - i];
}
