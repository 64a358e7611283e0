// How long one load takes: a chase in which each load gives the place of the next, so that none can begin early.
//
// A chase of SHORT steps and one of LONG steps differ in nothing else; the difference of their times, divided by the
// difference of their steps and multiplied by the clock of the multiprocessor, is the cycles of one step. A step is the
// load and the arithmetic that turns a number into an address. Each chase goes on where the last one ended.

#define SHORT 64
#define LONG (SHORT + 1024)

// Elements of 4 bytes in each ring. In L1, L2 and global memory a ring has one element in each LINE, so that no load
// finds a neighbour of the last one; L1 is as many lines as SHORT is steps, GLOBAL more than twice the L2 of an H200.
#define SHARED 128
#define CONSTANT 128
#define LINE 32
#define L1 (SHORT * LINE)
#define L2 (8192 * LINE)
#define GLOBAL (1024 * 1024 * LINE)

// smemviz: registers<<<1, 1>>>(ones(1), -1, SHORT)
// smemviz: registers<<<1, 1>>>(ones(1), -1, LONG)
// smemviz: shared_memory<<<1, 1>>>(zeros(1), ring(SHARED), SHORT)
// smemviz: shared_memory<<<1, 1>>>(zeros(1), ring(SHARED), LONG)
// smemviz: constant_memory<<<1, 1>>>(zeros(1), SHORT)
// smemviz: constant_memory<<<1, 1>>>(zeros(1), LONG)
// smemviz: l1_cache<<<1, 1>>>(zeros(1), ring(L1, LINE), SHORT)
// smemviz: l1_cache<<<1, 1>>>(zeros(1), ring(L1, LINE), LONG)
// smemviz: l2_cache<<<1, 1>>>(zeros(1), ring(L2, LINE), SHORT)
// smemviz: l2_cache<<<1, 1>>>(zeros(1), ring(L2, LINE), LONG)
// smemviz: global_memory<<<1, 1>>>(zeros(1), ring(GLOBAL, LINE), SHORT)
// smemviz: global_memory<<<1, 1>>>(zeros(1), ring(GLOBAL, LINE), LONG)

// A ring that the compiler makes: with 5 and 3 it comes to every place, if CONSTANT is a power of 2.
struct Ring {
    unsigned places[CONSTANT];

    constexpr Ring() : places() {
        for (unsigned i = 0; i < CONSTANT; i++)
            places[i] = (5 * i + 3) % CONSTANT;
    }
};

__constant__ Ring constant_ring;

// No memory at all: each multiplication waits for the one before it, eight of them in a row.
__global__ void registers(float *last, float factor, int steps) {
    float product = last[0];
    for (int step = 0; step < steps; step += 8) {
        product *= factor;
        product *= factor;
        product *= factor;
        product *= factor;
        product *= factor;
        product *= factor;
        product *= factor;
        product *= factor;
    }
    last[0] = product;
}

// A ring in shared memory.
__global__ void shared_memory(unsigned *last, const unsigned *places, int steps) {
    __shared__ unsigned held[SHARED];
    for (int i = 0; i < SHARED; i++)
        held[i] = places[i];
    unsigned place = last[0];
    for (int step = 0; step < steps; step++)
        place = held[place];
    last[0] = place;
}

// A ring in constant memory.
__global__ void constant_memory(unsigned *last, int steps) {
    unsigned place = last[0];
    for (int step = 0; step < steps; step++)
        place = constant_ring.places[place];
    last[0] = place;
}

// Follow a ring in global memory for so many steps.
__device__ unsigned chase(const unsigned *places, unsigned place, int steps) {
    for (int step = 0; step < steps; step++)
        place = places[place];
    return place;
}

// A ring in global memory that fits in L1, and is there once SHORT steps are done.
__global__ void l1_cache(unsigned *last, const unsigned *places, int steps) {
    last[0] = chase(places, last[0], steps);
}

// A ring in global memory that fits in L2; no launch comes to the same line twice, so none finds it in L1.
__global__ void l2_cache(unsigned *last, const unsigned *places, int steps) {
    last[0] = chase(places, last[0], steps);
}

// A ring in global memory that does not fit in L2.
__global__ void global_memory(unsigned *last, const unsigned *places, int steps) {
    last[0] = chase(places, last[0], steps);
}
