"""The memory that compiled kernels, the loops that run them, and Python share: where everything in it lies.

``State`` is an array of 64-bit integers: numbers, addresses of arrays, and from ``TABLE`` on what a kernel names. The
other constants are columns of arrays.
"""

FIRST_ADDRESS = 0x7000_0000_0000  # of global memory

# -- the state
FUEL = 0  # visits of blocks until Python is asked
ROWS = 1  # requests that wait to be taken
ROWS_LIMIT = 2
BLOCK = 3  # the block of the grid that runs
WARP = 4
LAST = 5  # the block of the kernel that ran last
SHARED_START, SHARED_BYTES, LOCAL_BYTES, SLOTS = 6, 7, 8, 9
META, ADDRESSES, BITS = 10, 11, 12  # addresses of what is known of each request
MEMORY, SHARED, LOCAL, OPERATIONS, WARPS, SCRATCH = 13, 14, 15, 16, 17, 18
BARRIER = 19  # that a warp comes to, a row of the barriers
AWAITED = 37  # the barrier that threads of the block wait at, -1 where none does
WAITS_AT = 38  # the highest block of the kernel with a barrier that threads wait at
STARTED = 20  # whether the block has begun
CELL_SHIFT = 22  # bytes of a shared cell, as a power of two
UNWRITTEN = 23  # shared cells that nobody has written
STORES = 24  # whether the interval has stores or updates in shared memory
SETTLED = 25  # requests that have been looked at for races
LATEST_EXIT = 26  # the highest block of the kernel that a thread ended at in this interval
GLOBAL_SHIFT = 27
ALLOCATIONS = 28
IN_VAIN = 21  # visits of blocks that may wait for others since memory changed
AXES = 29  # to 34: three numbers of blocks; the coordinates of the block come behind them
THREADS, END = 35, 36
CHANGES = 39  # requests that changed memory
MANY_AT_BARRIERS = 40  # the fewest threads of a block that pass a barrier; those that have ended do not
CYCLES = 41  # of the clock
MARKED = 42  # cells of global memory that have marks
LEARNS = 43  # whether requests of the block are only counted, those of all lanes by their pattern
PATTERNS, PATTERN_ROWS, PATTERN_TIMES, PATTERN_SITES = 44, 45, 46, 47  # of operations; rows, how often, of which site
LEARNT = 48  # rows of patterns
UNITS = 49  # of each site, a power of two of the bytes that a request may move by and cost the same
COUNTED = 50  # whether requests of all blocks but the logged ones are only counted
TABLE = 51

# -- columns of a request; WATCHED tells whether it is looked at for races
SITE, OF_BLOCK, OF_WARP, STEP, EPOCH, PHASE, CHANGED, OPERATION, PATTERN, LANES, WATCHED, META_COLUMNS = range(12)

# -- columns of an operation, an instruction that touches memory
KIND, SPACE, WIDTH, COUNT, SHARED_SITE, GLOBAL_SITE, UPDATE, TYPE, STRONG, OPERATION_COLUMNS = range(10)
LOAD, STORE, CHANGE = 0, 1, 2
GLOBAL, SHARED_SPACE, LOCAL_SPACE, GENERIC = 0, 1, 2, 3
NO_UPDATE = -1
ADD, MIN, MAX, EXCHANGE, SWAP, INCREMENT, DECREMENT, AND, OR, XOR = range(10)
UNSIGNED, SIGNED, FLOAT = 0, 1, 2

# -- columns of the pattern of an operation, what all lanes asked for the last time: the row of its addresses, -1 for
# none; what these are more in the window of a generic address; how far the first may go, where that memory is, and what
# it may not have in common with the first one kept; how lanes lie to each other; whether another is still worth it; and
# WATCHED as of a request
ROW, WINDOW, FIRST_FROM, FIRST_TO, BASE, APART_BY, SHAPE, CREDIT, IS_SHARED, LOOKED_AT, PATTERN_COLUMNS = range(11)
ANY_SHAPE, SIDE_BY_SIDE, SAME_PLACE, APART = range(4)
MOST_PATTERNS = 512
MOST_CREDIT = 64

# -- columns of a barrier
REDUCTION, PLACE, RESULT, IS_COUNT, NUMBER, BARRIER_COLUMNS = 0, 1, 2, 3, 4, 5
NOTHING, COUNTS, ALL, ANY = range(4)

# -- columns of an allocation
START, NBYTES, DATA, MARKS, ALLOCATION_COLUMNS = 0, 1, 2, 3, 4

# -- columns of a warp; lanes are bits, ALIVE as of when it ran last, TESTS what they bring to a barrier
STEPS, EPOCHS, PHASES, VISITS, ALIVE, WAITING, WAITING_FOR_WARP, TESTS, WARP_COLUMNS = range(9)

# -- what a run of a warp or of blocks ends with
GO_ON, ASK, WAIT, SUSPECT, DONE = range(5)

# -- bytes of the scratch memory, where operands of an access lie
AT, FIRST, SECOND, SCRATCH_BYTES = 0, 256, 256 + 2048, 256 + 4096
