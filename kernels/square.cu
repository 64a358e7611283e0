// A square tile in shared memory, filled and emptied by rows or by columns.
//
// A warp that walks along a row finds every lane in a bank of its own; a warp that walks down a column of 32 finds
// all its lanes in one bank, 32 wavefronts for one request. One unused element at the end of each row (IPAD) turns
// the column into a diagonal, and the conflict is gone.

#define BDIMX 32
#define BDIMY BDIMX
#define IPAD 1
#define PITCH (BDIMX + IPAD)

// smemviz: set_row_read_row<<<1, dim3(BDIMX, BDIMY)>>>(zeros(BDIMX * BDIMY))
// smemviz: set_col_read_col<<<1, dim3(BDIMX, BDIMY)>>>(zeros(BDIMX * BDIMY))
// smemviz: set_row_read_col<<<1, dim3(BDIMX, BDIMY)>>>(zeros(BDIMX * BDIMY))
// smemviz: set_row_read_col_dyn<<<1, dim3(BDIMX, BDIMY), BDIMX * BDIMY * sizeof(int)>>>(zeros(BDIMX * BDIMY))
// smemviz: set_row_read_col_pad<<<1, dim3(BDIMX, BDIMY)>>>(zeros(BDIMX * BDIMY))
// smemviz: set_row_read_col_dyn_pad<<<1, dim3(BDIMX, BDIMY), PITCH * BDIMY * sizeof(int)>>>(zeros(BDIMX * BDIMY))

// Store by rows, load by rows.
__global__ void set_row_read_row(int *out) {
    __shared__ int tile[BDIMY][BDIMX];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int idx = ty * BDIMX + tx;

    tile[ty][tx] = idx;
    __syncthreads();
    out[idx] = tile[ty][tx];
}

// Store by columns, load by columns.
__global__ void set_col_read_col(int *out) {
    __shared__ int tile[BDIMX][BDIMY];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int idx = ty * BDIMX + tx;

    tile[tx][ty] = idx;
    __syncthreads();
    out[idx] = tile[tx][ty];
}

// Store by rows, load by columns: a transpose.
__global__ void set_row_read_col(int *out) {
    __shared__ int tile[BDIMY][BDIMX];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int idx = ty * BDIMX + tx;

    tile[ty][tx] = idx;
    __syncthreads();
    out[idx] = tile[tx][ty];
}

// The transpose in dynamic shared memory, which has one dimension only.
__global__ void set_row_read_col_dyn(int *out) {
    extern __shared__ int tile[];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row_idx = ty * BDIMX + tx;
    int col_idx = tx * BDIMY + ty;

    tile[row_idx] = row_idx;
    __syncthreads();
    out[row_idx] = tile[col_idx];
}

// The transpose with IPAD unused elements at the end of each row.
__global__ void set_row_read_col_pad(int *out) {
    __shared__ int tile[BDIMY][PITCH];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int idx = ty * BDIMX + tx;

    tile[ty][tx] = idx;
    __syncthreads();
    out[idx] = tile[tx][ty];
}

// The padded transpose in dynamic shared memory; the output has no padding, so it takes a third index.
__global__ void set_row_read_col_dyn_pad(int *out) {
    extern __shared__ int tile[];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row_idx = ty * PITCH + tx;
    int col_idx = tx * PITCH + ty;
    int idx = ty * BDIMX + tx;

    tile[row_idx] = idx;
    __syncthreads();
    out[idx] = tile[col_idx];
}

// Declared in the file, both arrays are known to every kernel below; a block has room for those that its kernel uses.
__shared__ int tile_of_file[BDIMY][BDIMX];
extern __shared__ int dynamic_of_file[];

// smemviz: set_row_read_col_file<<<1, dim3(BDIMX, BDIMY)>>>(zeros(BDIMX * BDIMY))
// smemviz: set_row_read_col_dyn_file<<<1, dim3(BDIMX, BDIMY), BDIMX * BDIMY * sizeof(int)>>>(zeros(BDIMX * BDIMY))

// The transpose with its tile declared in the file: the same requests as set_row_read_col.
__global__ void set_row_read_col_file(int *out) {
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int idx = ty * BDIMX + tx;

    tile_of_file[ty][tx] = idx;
    __syncthreads();
    out[idx] = tile_of_file[tx][ty];
}

// The transpose in dynamic shared memory that is declared in the file.
__global__ void set_row_read_col_dyn_file(int *out) {
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row_idx = ty * BDIMX + tx;
    int col_idx = tx * BDIMY + ty;

    dynamic_of_file[row_idx] = row_idx;
    __syncthreads();
    out[row_idx] = dynamic_of_file[col_idx];
}
