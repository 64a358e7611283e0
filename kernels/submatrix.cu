// A matrix product in which a structure says what a matrix is: its size, its row stride and where its elements begin.
//
// From an element to the one below it is a row stride, as long as a whole row. A sub-matrix needs no copy: it is a
// structure that begins elsewhere and has the row stride of the whole. Kernels take the structures by value.

#define M 64
#define K 64
#define N 64
#define TILE 16
#define A_STRIDE K
#define B_STRIDE N
#define C_STRIDE N
#define STRIP (K + TILE)  // a row of a's strip: TILE more keep the rows that a warp reads apart in other banks

struct Matrix {
    int height;
    int width;
    int stride;
    float *elements;
};

// smemviz: from_global_memory<<<dim3(N / TILE, M / TILE), dim3(TILE, TILE)>>>(Matrix{M, N, C_STRIDE, zeros(M * C_STRIDE)}, Matrix{M, K, A_STRIDE, random(M * A_STRIDE)}, Matrix{K, N, B_STRIDE, random(K * B_STRIDE)})
// smemviz: by_sub_matrices<<<dim3(N / TILE, M / TILE), dim3(TILE, TILE)>>>(Matrix{M, N, C_STRIDE, zeros(M * C_STRIDE)}, Matrix{M, K, A_STRIDE, random(M * A_STRIDE)}, Matrix{K, N, B_STRIDE, random(K * B_STRIDE)})
// smemviz: by_whole_strips<<<dim3(N / TILE, M / TILE), dim3(TILE, TILE)>>>(Matrix{M, N, C_STRIDE, zeros(M * C_STRIDE)}, Matrix{M, K, A_STRIDE, random(M * A_STRIDE)}, Matrix{K, N, B_STRIDE, random(K * B_STRIDE)})

// One thread per element of c: each loads a row of a and a column of b for itself.
__global__ void from_global_memory(Matrix c, Matrix a, Matrix b) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    float total = 0;
    for (int k = 0; k < a.width; k++)
        total += a.elements[row * a.stride + k] * b.elements[k * b.stride + column];
    c.elements[row * c.stride + column] = total;
}

// The tile that lies so many tiles down and across in a matrix.
__device__ Matrix sub_matrix(Matrix whole, int down, int across) {
    return Matrix{TILE, TILE, whole.stride, whole.elements + down * TILE * whole.stride + across * TILE};
}

// Tile by tile: the threads of a block load each element of a sub-matrix once and share it.
__global__ void by_sub_matrices(Matrix c, Matrix a, Matrix b) {
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    Matrix c_sub = sub_matrix(c, blockIdx.y, blockIdx.x);
    float total = 0;
    for (int tile = 0; tile < a.width / TILE; tile++) {
        Matrix a_sub = sub_matrix(a, blockIdx.y, tile);
        Matrix b_sub = sub_matrix(b, tile, blockIdx.x);
        a_tile[ty][tx] = a_sub.elements[ty * a_sub.stride + tx];
        b_tile[ty][tx] = b_sub.elements[ty * b_sub.stride + tx];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            total += a_tile[ty][k] * b_tile[k][tx];
        __syncthreads();
    }
    c_sub.elements[ty * c_sub.stride + tx] = total;
}

// All tiles of a block at once, whole rows of a and columns of b: as many accesses for K / TILE times the memory.
__global__ void by_whole_strips(Matrix c, Matrix a, Matrix b) {
    __shared__ float a_strip[TILE][STRIP];
    __shared__ float b_strip[K][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    Matrix c_sub = sub_matrix(c, blockIdx.y, blockIdx.x);
    for (int tile = 0; tile < K / TILE; tile++) {
        Matrix a_sub = sub_matrix(a, blockIdx.y, tile);
        Matrix b_sub = sub_matrix(b, tile, blockIdx.x);
        a_strip[ty][tile * TILE + tx] = a_sub.elements[ty * a_sub.stride + tx];
        b_strip[tile * TILE + ty][tx] = b_sub.elements[ty * b_sub.stride + tx];
    }
    __syncthreads();
    float total = 0;
    for (int k = 0; k < K; k++)
        total += a_strip[ty][k] * b_strip[k][tx];
    c_sub.elements[ty * c_sub.stride + tx] = total;
}
