"""How long one load takes: a chase in which each load gives the place of the next, so that none can begin early.

A chase of SHORT steps and one of LONG steps differ in nothing else; the difference of their times, divided by the
difference of their steps and multiplied by the clock of the multiprocessor, is the cycles of one step. A step is the
load and the arithmetic that turns a number into an address. Each chase goes on where the last one ended.

In cycles, on an H200 at 1,980 MHz, beside what is often quoted:

    register   4   1      (a multiplication)
    shared    29   5
    constant  34   5
    L1        40   -
    L2       288   -
    global   667   500    (past L2)
"""

import numpy as np
from numba import cuda, uint32

SHORT = 64
LONG = SHORT + 1024

# Elements of 4 bytes in each ring. In L1, L2 and global memory a ring has one element in each LINE, so that no load
# finds a neighbour of the last one; L1 is as many lines as SHORT is steps, GLOBAL is more than twice the L2 of an H200.
SHARED = 128
CONSTANT = 128
LINE = 32
L1 = SHORT * LINE
L2 = 8192 * LINE
GLOBAL = 1024 * 1024 * LINE


def ring(size, apart):
    """Return numbers that lead through all multiples of ``apart`` below ``size``, in no order that helps a cache."""
    order = np.random.default_rng(0).permutation(size // apart) * apart
    places = np.zeros(size, np.uint32)
    places[order] = np.roll(order, -1)
    return places


CONSTANT_RING = ring(CONSTANT, 1)


@cuda.jit(device=True)
def chase(places, start, steps):
    """Follow a ring of places for so many steps."""
    place = start
    step = 0
    while step < steps:
        place = places[place]
        step += 1
    return place


@cuda.jit
def register(last, factor, steps):
    """No memory at all: each multiplication waits for the one before it, eight of them in a row."""
    product = last[0]
    step = 0
    while step < steps:
        product *= factor
        product *= factor
        product *= factor
        product *= factor
        product *= factor
        product *= factor
        product *= factor
        product *= factor
        step += 8
    last[0] = product


@cuda.jit
def shared_memory(last, places, steps):
    """A ring in shared memory."""
    held = cuda.shared.array(SHARED, uint32)
    i = 0
    while i < SHARED:
        held[i] = places[i]
        i += 1
    last[0] = chase(held, last[0], steps)


@cuda.jit
def constant_memory(last, steps):
    """A ring in constant memory."""
    last[0] = chase(cuda.const.array_like(CONSTANT_RING), last[0], steps)


@cuda.jit
def l1_cache(last, places, steps):
    """A ring in global memory that fits in L1, and is there once SHORT steps are done."""
    last[0] = chase(places, last[0], steps)


@cuda.jit
def l2_cache(last, places, steps):
    """A ring in global memory that fits in L2; no launch comes to the same line twice, so none finds it in L1."""
    last[0] = chase(places, last[0], steps)


@cuda.jit
def global_memory(last, places, steps):
    """A ring in global memory that does not fit in L2."""
    last[0] = chase(places, last[0], steps)


def main():
    """Chase for SHORT, then for LONG steps through each memory, and compare where it ends with NumPy's answer."""
    assert SHORT % 8 == LONG % 8 == 0, "SHORT and LONG have to be multiples of 8"
    for steps in (SHORT, LONG):
        last = cuda.to_device(np.ones(1, np.float32))
        register[1, 1](last, np.float32(-1), steps)
        assert last.copy_to_host()[0] == 1, "register multiplied by something else"

    places = ring(SHARED, 1)
    on_device = cuda.to_device(places)
    for steps in (SHORT, LONG):
        last = cuda.to_device(np.zeros(1, np.uint32))
        shared_memory[1, 1](last, on_device, steps)
        assert last.copy_to_host()[0] == end(places, steps), "shared_memory ended elsewhere"

    for steps in (SHORT, LONG):
        last = cuda.to_device(np.zeros(1, np.uint32))
        constant_memory[1, 1](last, steps)
        assert last.copy_to_host()[0] == end(CONSTANT_RING, steps), "constant_memory ended elsewhere"

    places = ring(L1, LINE)
    on_device = cuda.to_device(places)
    for steps in (SHORT, LONG):
        last = cuda.to_device(np.zeros(1, np.uint32))
        l1_cache[1, 1](last, on_device, steps)
        assert last.copy_to_host()[0] == end(places, steps), "l1_cache ended elsewhere"

    places = ring(L2, LINE)
    on_device = cuda.to_device(places)
    for steps in (SHORT, LONG):
        last = cuda.to_device(np.zeros(1, np.uint32))
        l2_cache[1, 1](last, on_device, steps)
        assert last.copy_to_host()[0] == end(places, steps), "l2_cache ended elsewhere"

    places = ring(GLOBAL, LINE)
    on_device = cuda.to_device(places)
    for steps in (SHORT, LONG):
        last = cuda.to_device(np.zeros(1, np.uint32))
        global_memory[1, 1](last, on_device, steps)
        assert last.copy_to_host()[0] == end(places, steps), "global_memory ended elsewhere"


def end(places, steps):
    """Return where a chase from place 0 ends."""
    place = 0
    for _ in range(steps):
        place = places[place]
    return place


if __name__ == "__main__":
    main()
    print("latency.py: all six kernels agree with NumPy")
