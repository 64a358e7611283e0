// A rectangular tile in shared memory: twice as wide as it is high.
//
// The coordinates of a thread cannot simply be swapped here, so the transposing kernels number the threads row by row
// and divide by the other side of the tile. A column of 16 puts the 32 lanes of a warp into two banks, 16 wavefronts
// for one request. IPAD = 2 moves the two halves of the warp to even and odd banks; with IPAD = 1 they still collide.

#define BDIMX 32
#define BDIMY 16
#define IPAD 2
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

// Store by columns, load by columns, in a tile that stands upright.
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
    int irow = idx / BDIMY;
    int icol = idx % BDIMY;

    tile[ty][tx] = idx;
    __syncthreads();
    out[idx] = tile[icol][irow];
}

// The transpose in dynamic shared memory, which has one dimension only.
__global__ void set_row_read_col_dyn(int *out) {
    extern __shared__ int tile[];
    int idx = threadIdx.y * BDIMX + threadIdx.x;
    int irow = idx / BDIMY;
    int icol = idx % BDIMY;
    int col_idx = icol * BDIMX + irow;

    tile[idx] = idx;
    __syncthreads();
    out[idx] = tile[col_idx];
}

// The transpose with IPAD unused elements at the end of each row.
__global__ void set_row_read_col_pad(int *out) {
    __shared__ int tile[BDIMY][PITCH];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int idx = ty * BDIMX + tx;
    int irow = idx / BDIMY;
    int icol = idx % BDIMY;

    tile[ty][tx] = idx;
    __syncthreads();
    out[idx] = tile[icol][irow];
}

// The padded transpose in dynamic shared memory; the output has no padding, so it takes a third index.
__global__ void set_row_read_col_dyn_pad(int *out) {
    extern __shared__ int tile[];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int idx = ty * BDIMX + tx;
    int irow = idx / BDIMY;
    int icol = idx % BDIMY;
    int row_idx = ty * PITCH + tx;
    int col_idx = icol * PITCH + irow;

    tile[row_idx] = idx;
    __syncthreads();
    out[idx] = tile[col_idx];
}
