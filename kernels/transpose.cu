// Transposing a matrix: by way of global memory alone, and by way of a tile.
//
// Without a tile, either the loads or the stores walk down a column, and every lane moves a sector of its own. A tile
// makes both walk along rows and pays in shared memory instead: its columns lie in one bank each, unless a row is padded
// by one word or the column number is mixed with the row number.

#define ROWS 64
#define COLUMNS 96
#define TILE 32
#define PITCH (TILE + 1)

constexpr int ACROSS = (COLUMNS + TILE - 1) / TILE;
constexpr int DOWN = (ROWS + TILE - 1) / TILE;

// smemviz: copy<<<dim3(ACROSS, DOWN), dim3(TILE, TILE)>>>(zeros(ROWS, COLUMNS), arange(ROWS, COLUMNS))
// smemviz: load_rows_store_columns<<<dim3(ACROSS, DOWN), dim3(TILE, TILE)>>>(zeros(COLUMNS, ROWS), arange(ROWS, COLUMNS))
// smemviz: load_columns_store_rows<<<dim3(DOWN, ACROSS), dim3(TILE, TILE)>>>(zeros(COLUMNS, ROWS), arange(ROWS, COLUMNS))
// smemviz: tile<<<dim3(ACROSS, DOWN), dim3(TILE, TILE)>>>(zeros(COLUMNS, ROWS), arange(ROWS, COLUMNS))
// smemviz: padded_tile<<<dim3(ACROSS, DOWN), dim3(TILE, TILE)>>>(zeros(COLUMNS, ROWS), arange(ROWS, COLUMNS))
// smemviz: swizzled_tile<<<dim3(ACROSS, DOWN), dim3(TILE, TILE)>>>(zeros(COLUMNS, ROWS), arange(ROWS, COLUMNS))

// No transpose at all: what the traffic costs at least.
__global__ void copy(float *out, const float *matrix) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < ROWS && column < COLUMNS)
        out[row * COLUMNS + column] = matrix[row * COLUMNS + column];
}

// Neighbouring threads load neighbours and store far apart.
__global__ void load_rows_store_columns(float *out, const float *matrix) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < ROWS && column < COLUMNS)
        out[column * ROWS + row] = matrix[row * COLUMNS + column];
}

// Neighbouring threads load far apart and store neighbours.
__global__ void load_columns_store_rows(float *out, const float *matrix) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < COLUMNS && column < ROWS)
        out[row * ROWS + column] = matrix[column * COLUMNS + row];
}

// By way of a tile: rows in global memory, columns in shared memory.
__global__ void tile(float *out, const float *matrix) {
    __shared__ float held[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int first_column = blockIdx.x * TILE;
    int first_row = blockIdx.y * TILE;

    if (first_row + ty < ROWS && first_column + tx < COLUMNS)
        held[ty][tx] = matrix[(first_row + ty) * COLUMNS + first_column + tx];
    __syncthreads();
    if (first_column + ty < COLUMNS && first_row + tx < ROWS)
        out[(first_column + ty) * ROWS + first_row + tx] = held[tx][ty];
}

// The tile with one word more in each row than it needs.
__global__ void padded_tile(float *out, const float *matrix) {
    __shared__ float held[TILE][PITCH];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int first_column = blockIdx.x * TILE;
    int first_row = blockIdx.y * TILE;

    if (first_row + ty < ROWS && first_column + tx < COLUMNS)
        held[ty][tx] = matrix[(first_row + ty) * COLUMNS + first_column + tx];
    __syncthreads();
    if (first_column + ty < COLUMNS && first_row + tx < ROWS)
        out[(first_column + ty) * ROWS + first_row + tx] = held[tx][ty];
}

// The tile with its columns mixed by row: no word more, and no conflict; TILE has to be a power of two.
__global__ void swizzled_tile(float *out, const float *matrix) {
    __shared__ float held[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int first_column = blockIdx.x * TILE;
    int first_row = blockIdx.y * TILE;

    if (first_row + ty < ROWS && first_column + tx < COLUMNS)
        held[ty][tx ^ ty] = matrix[(first_row + ty) * COLUMNS + first_column + tx];
    __syncthreads();
    if (first_column + ty < COLUMNS && first_row + tx < ROWS)
        out[(first_column + ty) * ROWS + first_row + tx] = held[tx][ty ^ tx];
}
