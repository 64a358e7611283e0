// Kernels whose shared memory Nsight Compute counted on an H200, of PTX that ptxas leaves as it is.

// smemviz: panel<<<1, 64>>>(zeros(64, 64), random(64, 64), random(64, 64), 64)
// smemviz: interleaved<<<4, 256, 256 * sizeof(float)>>>(zeros(4), random(1024))
// smemviz: shuffled<<<2, 256>>>(zeros(2), random(512))

// 64 x 64 results of a block of 64 threads, 8 x 8 each; 16 bytes at once.
__global__ void panel(float *c, const float *a, const float *b, int n) {
    __shared__ __align__(16) float as[8][64 + 4];
    __shared__ __align__(16) float bs[8][64];
    int t = threadIdx.x, tx = t % 8, ty = t / 8;
    float sums[8][8] = {};
    for (int first = 0; first < n; first += 8) {
        for (int q = t; q < 128; q += 64) {
            int row = q / 2, column = q % 2 * 4;
            float4 v = *reinterpret_cast<const float4 *>(&a[row * n + first + column]);
            as[column + 0][row] = v.x;
            as[column + 1][row] = v.y;
            as[column + 2][row] = v.z;
            as[column + 3][row] = v.w;
            *reinterpret_cast<float4 *>(&bs[q / 16][q % 16 * 4]) =
                *reinterpret_cast<const float4 *>(&b[(first + q / 16) * n + q % 16 * 4]);
        }
        __syncthreads();
        for (int k = 0; k < 8; k++) {
            float4 x[2], y[2];
            for (int part = 0; part < 2; part++) {
                x[part] = *reinterpret_cast<float4 *>(&as[k][ty * 8 + part * 4]);
                y[part] = *reinterpret_cast<float4 *>(&bs[k][tx * 8 + part * 4]);
            }
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 8; j++)
                    sums[i][j] += reinterpret_cast<float *>(x)[i] * reinterpret_cast<float *>(y)[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            c[(ty * 8 + i) * n + tx * 8 + j] = sums[i][j];
}

__global__ void interleaved(float *sums, const float *values) {
    extern __shared__ float held[];
    unsigned t = threadIdx.x;
    held[t] = values[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (unsigned step = 1; step < blockDim.x; step *= 2) {
        unsigned i = 2 * step * t;
        if (i < blockDim.x)
            held[i] += held[i + step];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = held[0];
}

__device__ float sum_of_warp(float value) {
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_down_sync(0xffffffffu, value, step);
    return value;
}

__global__ void shuffled(float *sums, const float *values) {
    __shared__ float part[8];
    int t = threadIdx.x;
    float sum = sum_of_warp(values[blockIdx.x * blockDim.x + t]);
    if (t % 32 == 0)
        part[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = sum_of_warp(t < 8 ? part[t] : 0);
        if (t == 0)
            sums[blockIdx.x] = sum;
    }
}
