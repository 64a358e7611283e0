// A matrix product, c = a b: from global memory alone, and by way of tiles in shared memory.
//
// Without tiles each thread loads a whole row and a whole column. With tiles a block loads each element once per tile
// and its threads share it, so that global memory delivers TILE times less; which way a tile lies in shared memory then
// decides whether its threads collide.

#define M 64
#define K 64
#define N 64
#define TILE 32

constexpr int ACROSS = (N + TILE - 1) / TILE;
constexpr int DOWN = (M + TILE - 1) / TILE;

// smemviz: naive<<<dim3(ACROSS, DOWN), dim3(TILE, TILE)>>>(zeros(M, N), random(M, K), random(K, N))
// smemviz: naive_swapped<<<dim3(DOWN, ACROSS), dim3(TILE, TILE)>>>(zeros(M, N), random(M, K), random(K, N))
// smemviz: naive_integer<<<dim3(ACROSS, DOWN), dim3(TILE, TILE)>>>(zeros(M, N), random(M, K), random(K, N))
// smemviz: tiled<<<dim3(ACROSS, DOWN), dim3(TILE, TILE)>>>(zeros(M, N), random(M, K), random(K, N))
// smemviz: tiled_swapped<<<dim3(ACROSS, DOWN), dim3(TILE, TILE)>>>(zeros(M, N), random(M, K), random(K, N))
// smemviz: tiled_dynamic<<<dim3(ACROSS, DOWN), dim3(TILE, TILE), 2 * TILE * TILE * sizeof(float)>>>(zeros(M, N), random(M, K), random(K, N))
// smemviz: tiled_any<<<dim3(ACROSS, DOWN), dim3(TILE, TILE)>>>(zeros(M, N), random(M, K), random(K, N))
// smemviz: tiled_integer<<<dim3(ACROSS, DOWN), dim3(TILE, TILE)>>>(zeros(M, N), random(M, K), random(K, N))
// smemviz: tiled_unbounded<<<dim3(ACROSS, DOWN), dim3(TILE, TILE)>>>(zeros(M, N), random(M, K), random(K, N))

// One thread per element of c; neighbouring threads take neighbouring columns.
__global__ void naive(float *c, const float *a, const float *b) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && column < N) {
        float total = 0;
        for (int k = 0; k < K; k++)
            total += a[row * K + k] * b[k * N + column];
        c[row * N + column] = total;
    }
}

// Neighbouring threads take neighbouring rows: every lane loads from, and stores to, a sector of its own.
__global__ void naive_swapped(float *c, const float *a, const float *b) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && column < N) {
        float total = 0;
        for (int k = 0; k < K; k++)
            total += a[row * K + k] * b[k * N + column];
        c[row * N + column] = total;
    }
}

// The product of integers with one thread per element of c.
__global__ void naive_integer(int *c, const int *a, const int *b) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && column < N) {
        int total = 0;
        for (int k = 0; k < K; k++)
            total += a[row * K + k] * b[k * N + column];
        c[row * N + column] = total;
    }
}

// Tile by tile; M, K and N have to be multiples of TILE.
__global__ void tiled(float *c, const float *a, const float *b) {
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int column = blockIdx.x * blockDim.x + tx;
    int row = blockIdx.y * blockDim.y + ty;
    float total = 0;
    for (int first = 0; first < K; first += TILE) {
        a_tile[ty][tx] = a[row * K + first + tx];
        b_tile[ty][tx] = b[(first + ty) * N + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            total += a_tile[ty][k] * b_tile[k][tx];
        __syncthreads();
    }
    c[row * N + column] = total;
}

// The same tiles, filled with threadIdx.x as the row: neighbouring threads load from rows of their own.
__global__ void tiled_swapped(float *c, const float *a, const float *b) {
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int first_row = blockIdx.y * TILE;
    int first_column = blockIdx.x * TILE;
    float total = 0;
    for (int first = 0; first < K; first += TILE) {
        a_tile[tx][ty] = a[(first_row + tx) * K + first + ty];
        b_tile[tx][ty] = b[(first + tx) * N + first_column + ty];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            total += a_tile[ty][k] * b_tile[k][tx];
        __syncthreads();
    }
    c[(first_row + ty) * N + first_column + tx] = total;
}

// Tile by tile in dynamic shared memory, where both tiles are parts of one array.
__global__ void tiled_dynamic(float *c, const float *a, const float *b) {
    extern __shared__ float tiles[];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int b_begins = TILE * TILE;
    int column = blockIdx.x * blockDim.x + tx;
    int row = blockIdx.y * blockDim.y + ty;
    float total = 0;
    for (int first = 0; first < K; first += TILE) {
        tiles[ty * TILE + tx] = a[row * K + first + tx];
        tiles[b_begins + ty * TILE + tx] = b[(first + ty) * N + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            total += tiles[ty * TILE + k] * tiles[b_begins + k * TILE + tx];
        __syncthreads();
    }
    c[row * N + column] = total;
}

// Tiles that reach over an edge are filled up with zeros, so that M, K and N may be anything.
__global__ void tiled_any(float *c, const float *a, const float *b) {
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int column = blockIdx.x * blockDim.x + tx;
    int row = blockIdx.y * blockDim.y + ty;
    float total = 0;
    for (int first = 0; first < K; first += TILE) {
        a_tile[ty][tx] = row < M && first + tx < K ? a[row * K + first + tx] : 0.0f;
        b_tile[ty][tx] = first + ty < K && column < N ? b[(first + ty) * N + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            total += a_tile[ty][k] * b_tile[k][tx];
        __syncthreads();
    }
    if (row < M && column < N)
        c[row * N + column] = total;
}

// The product of integers, for any M, K and N.
__global__ void tiled_integer(int *c, const int *a, const int *b) {
    __shared__ int a_tile[TILE][TILE];
    __shared__ int b_tile[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int column = blockIdx.x * blockDim.x + tx;
    int row = blockIdx.y * blockDim.y + ty;
    int total = 0;
    for (int first = 0; first < K; first += TILE) {
        a_tile[ty][tx] = row < M && first + tx < K ? a[row * K + first + tx] : 0;
        b_tile[ty][tx] = first + ty < K && column < N ? b[(first + ty) * N + column] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            total += a_tile[ty][k] * b_tile[k][tx];
        __syncthreads();
    }
    if (row < M && column < N)
        c[row * N + column] = total;
}

// A mistake to find: the loads stop at the edges, the last store does not.
//
// Where N is no multiple of TILE, the threads beyond the right edge store into the next row, over what belongs there;
// those below the last row store behind the matrix.
__global__ void tiled_unbounded(int *c, const int *a, const int *b) {
    __shared__ int a_tile[TILE][TILE];
    __shared__ int b_tile[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int column = blockIdx.x * blockDim.x + tx;
    int row = blockIdx.y * blockDim.y + ty;
    int total = 0;
    for (int first = 0; first < K; first += TILE) {
        a_tile[ty][tx] = row < M && first + tx < K ? a[row * K + first + tx] : 0;
        b_tile[ty][tx] = first + ty < K && column < N ? b[(first + ty) * N + column] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            total += a_tile[ty][k] * b_tile[k][tx];
        __syncthreads();
    }
    c[row * N + column] = total;
}
