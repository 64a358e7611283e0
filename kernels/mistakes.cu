// Mistakes that are easily made, most of them with shared memory, one to a kernel.
//
// Most of these kernels run on a device without a word and leave wrong numbers, now and then or always; one can wait
// for ever, and three launches are not even begun. Run them where a mistake is found rather than made.

#define WIDTH 20
#define TILE 16
#define SQUARE 32
#define TALL 33
#define THREADS 64
#define BLOCKS 2
#define STATIC_SIDE 128
#define DYNAMIC_BYTES (240 * 1024)

constexpr int ACROSS = (WIDTH + TILE - 1) / TILE;

// smemviz: store_past_the_edge<<<dim3(ACROSS, ACROSS), dim3(TILE, TILE)>>>(zeros(WIDTH, WIDTH), random(WIDTH, WIDTH), random(WIDTH, WIDTH))
// smemviz: block_smaller_than_tile<<<dim3(2, 2), dim3(2, 2)>>>(zeros(SQUARE, SQUARE), random(SQUARE, SQUARE), random(SQUARE, SQUARE))
// smemviz: corner_of_each_tile<<<dim3(SQUARE / 2, SQUARE / 2), dim3(2, 2)>>>(zeros(SQUARE, SQUARE), random(SQUARE, SQUARE), random(SQUARE, SQUARE))
// smemviz: no_second_barrier<<<dim3(SQUARE / TILE, SQUARE / TILE), dim3(TILE, TILE)>>>(zeros(SQUARE, SQUARE), random(SQUARE, SQUARE), random(SQUARE, SQUARE))
// smemviz: barrier_in_a_branch<<<1, THREADS>>>(random(THREADS))
// smemviz: count_without_atomic<<<BLOCKS, THREADS / BLOCKS>>>(zeros(1), random(THREADS))
// smemviz: too_many_threads<<<1, dim3(SQUARE, TALL)>>>(zeros(TALL, SQUARE))
// smemviz: too_much_static_memory<<<1, SQUARE>>>(random(THREADS))
// smemviz: too_much_dynamic_memory<<<1, SQUARE, DYNAMIC_BYTES>>>(random(THREADS))

// A tiled product whose loads are checked and whose store is not.
//
// WIDTH is no multiple of TILE, so the last blocks have threads beside the matrix. They load zeros, as they should, but
// store all the same: a column too many is the first of the next row, whose right result is lost, and a row too many
// is past the end of the array, in memory of whoever comes next.
__global__ void store_past_the_edge(float *c, const float *a, const float *b) {
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int column = blockIdx.x * blockDim.x + tx;
    int row = blockIdx.y * blockDim.y + ty;
    float total = 0;
    for (int first = 0; first < WIDTH; first += TILE) {
        a_tile[ty][tx] = 0;
        b_tile[ty][tx] = 0;
        if (row < WIDTH && first + tx < WIDTH)
            a_tile[ty][tx] = a[row * WIDTH + first + tx];
        if (first + ty < WIDTH && column < WIDTH)
            b_tile[ty][tx] = b[(first + ty) * WIDTH + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            total += a_tile[ty][k] * b_tile[k][tx];
        __syncthreads();
    }
    c[row * WIDTH + column] = total;
}

// A tiled product in which each thread fills one element of the tiles, launched with blocks of 2 x 2.
//
// The block fills 4 of the 32 x 32 elements and then reads whole rows and columns. The others hold what an earlier
// block left there, which is zeros often enough for the mistake to pass a small test.
__global__ void block_smaller_than_tile(float *c, const float *a, const float *b) {
    __shared__ float a_tile[SQUARE][SQUARE];
    __shared__ float b_tile[SQUARE][SQUARE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int column = blockIdx.x * blockDim.x + tx;
    int row = blockIdx.y * blockDim.y + ty;
    a_tile[ty][tx] = a[row * SQUARE + tx];
    b_tile[ty][tx] = b[ty * SQUARE + column];
    __syncthreads();
    float total = 0;
    for (int k = 0; k < SQUARE; k++)
        total += a_tile[ty][k] * b_tile[k][tx];
    c[row * SQUARE + column] = total;
}

// A tiled product whose threads find their places by the tile, launched with blocks of 2 x 2.
//
// It would need blocks of SQUARE x SQUARE. As it is, 4 of the 1,024 elements of each tile of c are stored, and those
// are wrong, for most of what is read from the tiles was never written. All the others keep what was there: where
// another kernel left the right product in c, this one seems right. Whoever fills c with NaN first sees it at once.
__global__ void corner_of_each_tile(float *c, const float *a, const float *b) {
    __shared__ float a_tile[SQUARE][SQUARE];
    __shared__ float b_tile[SQUARE][SQUARE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * SQUARE + ty;
    int column = blockIdx.x * SQUARE + tx;
    float total = 0;
    for (int first = 0; first < SQUARE; first += SQUARE) {
        a_tile[ty][tx] = row < SQUARE && first + tx < SQUARE ? a[row * SQUARE + first + tx] : 0.0f;
        b_tile[ty][tx] = first + ty < SQUARE && column < SQUARE ? b[(first + ty) * SQUARE + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < SQUARE; k++)
            total += a_tile[ty][k] * b_tile[k][tx];
        __syncthreads();
    }
    if (row < SQUARE && column < SQUARE)
        c[row * SQUARE + column] = total;
}

// A tiled product without the barrier at the end of a round.
//
// A warp that is ahead stores the next tile while another still multiplies with this one. Whether it happens depends on
// how the warps are scheduled, so the result is right on most days.
__global__ void no_second_barrier(float *c, const float *a, const float *b) {
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int column = blockIdx.x * blockDim.x + tx;
    int row = blockIdx.y * blockDim.y + ty;
    float total = 0;
    for (int first = 0; first < SQUARE; first += TILE) {
        a_tile[ty][tx] = a[row * SQUARE + first + tx];
        b_tile[ty][tx] = b[(first + ty) * SQUARE + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            total += a_tile[ty][k] * b_tile[k][tx];
    }
    c[row * SQUARE + column] = total;
}

// Half of the threads wait at a barrier that the other half never reaches.
//
// What a device does then is left open: it may go on as if nothing were wrong, or wait for ever.
__global__ void barrier_in_a_branch(float *values) {
    __shared__ float held[THREADS];
    int t = threadIdx.x;
    held[t] = values[t];
    if (t < SQUARE) {
        __syncthreads();
        held[t] += 1;
    }
    values[t] = held[t];
}

// Counts the values above a half with a plain += on one element.
//
// That is a load, an addition and a store. Threads that load the same number all store that number and 1, so most of
// the counts are lost: a device leaves 1 or a few.
__global__ void count_without_atomic(int *count, const float *values) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (values[i] > 0.5)
        count[0] += 1;
}

// Fine in itself, but launched with blocks of SQUARE x TALL threads, more than the 1,024 that a block can have.
__global__ void too_many_threads(float *values) {
    values[threadIdx.y * SQUARE + threadIdx.x] = 0;
}

// A tile of STATIC_SIDE x STATIC_SIDE: the compiler gives a block at most 48 KiB that are declared with a size.
__global__ void too_much_static_memory(float *values) {
    __shared__ float tile[STATIC_SIDE][STATIC_SIDE];
    int t = threadIdx.x;
    tile[0][t] = values[t];
    __syncthreads();
    values[t] = tile[0][SQUARE - 1 - t];
}

// A launch that asks for DYNAMIC_BYTES of shared memory, more than any block is given.
__global__ void too_much_dynamic_memory(float *values) {
    extern __shared__ float held[];
    int t = threadIdx.x;
    held[t] = values[t];
    __syncthreads();
    values[t] = held[SQUARE - 1 - t];
}
