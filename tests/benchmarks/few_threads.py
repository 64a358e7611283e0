"""What comes after first steps: a block of few threads that loop over shared memory, by their number."""

import math

import numpy as np
from numba import complex64, cuda, float32, int32

NAMES = [
    "columns",
    "rows_by_insertion",
    "rows_by_bubbles",
    "stacks",
    "fill",
    "partial_sums",
    "life",
    "ring",
    "odd_even",
    "scan",
    "product",
    "diffusion",
    "search",
    "julia",
    "bounce",
    "collatz",
    "exchanged",
    "launches",
    "small_launches",
    "launches_in_turn",
    "merge",
    "orthogonal",
    "summed_area",
    "matches",
    "probing",
    "levels",
    "relaxed",
    "counted",
    "locked",
]
KERNEL = 0
SCALE = 1.0
THREADS = 32
SORTERS = 64
LENGTH = 128
LONG = 193
BINS = 64
PITCH = 33
QUEUE = 4 * THREADS
FILLED = THREADS * PITCH
SORTED = 2 * SORTERS
TILE = 8
MANY = 256
BALL = np.dtype([("x", np.float32), ("v", np.float32), ("hits", np.int32)])


@cuda.jit
def columns(values, counts):
    """Count into a column of each thread's own, then add the columns up."""
    hist = cuda.shared.array((BINS, THREADS), int32)
    tx = cuda.threadIdx.x
    for b in range(BINS):
        hist[b, tx] = 0
    cuda.syncthreads()
    for i in range(tx, values.shape[0], THREADS):
        hist[values[i] % BINS, tx] += 1
    cuda.syncthreads()
    for b in range(tx, BINS, THREADS):
        total = 0
        for k in range(THREADS):
            total += hist[b, k]
        counts[b] = total


@cuda.jit
def rows_by_insertion(values):
    """Sort a row of each thread's own by insertion, part after part."""
    s = cuda.shared.array((SORTERS, LENGTH), float32)
    tx = cuda.threadIdx.x
    n = values.shape[2]
    for part in range(values.shape[0]):
        for k in range(n):
            s[tx, k] = values[part, tx, k]
        for i in range(1, n):
            key = s[tx, i]
            j = i - 1
            while j >= 0 and s[tx, j] > key:
                s[tx, j + 1] = s[tx, j]
                j -= 1
            s[tx, j + 1] = key
        for k in range(n):
            values[part, tx, k] = s[tx, k]


@cuda.jit
def rows_by_bubbles(values):
    """Sort a row of each thread's own by exchange."""
    s = cuda.shared.array((THREADS, LONG), int32)
    tx = cuda.threadIdx.x
    n = values.shape[1]
    for k in range(n):
        s[tx, k] = values[tx, k]
    for i in range(n):
        for j in range(n - 1 - i):
            if s[tx, j] > s[tx, j + 1]:
                t = s[tx, j]
                s[tx, j] = s[tx, j + 1]
                s[tx, j + 1] = t
    for k in range(n):
        values[tx, k] = s[tx, k]


@cuda.jit
def stacks(out, n):
    """Take numbers apart with a stack of each thread's own."""
    stack = cuda.shared.array((16, THREADS), int32)
    tx = cuda.threadIdx.x
    total = 0
    for k in range(tx, n, THREADS):
        stack[0, tx] = k % 97 + 20
        top = 1
        while top > 0:
            top -= 1
            x = stack[top, tx]
            total += x
            if x > 1:
                stack[top, tx] = x // 2
                stack[top + 1, tx] = x // 3
                top += 2
    out[tx] = total


@cuda.jit
def ring(values, out):
    """Pass numbers through a ring, from each thread to the next but one."""
    queue = cuda.shared.array(QUEUE, float32)
    tx = cuda.threadIdx.x
    total = float32(0.0)
    for i in range(values.shape[0] // THREADS):
        queue[(i * THREADS + tx) % QUEUE] = values[i * THREADS + tx]
        cuda.syncthreads()
        total += queue[(i * THREADS + (tx + 2) % THREADS) % QUEUE]
    out[tx] = total


@cuda.jit
def fill(out, n):
    """Fill a padded row of each thread's own, over and over."""
    s = cuda.shared.array(FILLED, int32)
    tx = cuda.threadIdx.x
    for step in range(n):
        for k in range(THREADS):
            s[tx * PITCH + k] = k * step + tx
    total = 0
    for k in range(THREADS):
        total += s[tx * PITCH + k]
    out[tx] = total


@cuda.jit
def odd_even(values):
    """Sort by odd-even transposition."""
    s = cuda.shared.array(SORTED, float32)
    tx = cuda.threadIdx.x
    n = SORTED
    for part in range(values.shape[0]):
        s[tx] = values[part, tx]
        s[tx + SORTERS] = values[part, tx + SORTERS]
        cuda.syncthreads()
        for step in range(n):
            i = 2 * tx + step % 2
            if i + 1 < n and s[i] > s[i + 1]:
                t = s[i]
                s[i] = s[i + 1]
                s[i + 1] = t
            cuda.syncthreads()
        values[part, tx] = s[tx]
        values[part, tx + SORTERS] = s[tx + SORTERS]
        cuda.syncthreads()


@cuda.jit
def scan(values, sums):
    """Add up part after part, each by doubling distances."""
    s = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    before = 0
    for start in range(0, values.shape[0], THREADS):
        s[tx] = values[start + tx]
        cuda.syncthreads()
        d = 1
        while d < THREADS:
            x = 0
            if tx >= d:
                x = s[tx - d]
            cuda.syncthreads()
            s[tx] += x
            cuda.syncthreads()
            d *= 2
        sums[start + tx] = before + s[tx]
        before += s[THREADS - 1]
        cuda.syncthreads()


@cuda.jit
def product(a, b, c):
    """Multiply two matrices, tile by tile, all of them in one block."""
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    n = c.shape[0]
    for row in range(ty, n, TILE):
        for col in range(tx, n, TILE):
            total = float32(0.0)
            for m in range(0, n, TILE):
                sa[ty, tx] = a[row, m + tx]
                sb[ty, tx] = b[m + ty, col]
                cuda.syncthreads()
                for k in range(TILE):
                    total += sa[ty, k] * sb[k, tx]
                cuda.syncthreads()
            c[row, col] = total


@cuda.jit
def partial_sums(values, out):
    """Add up in a place of each thread's own, then by a tree."""
    s = cuda.shared.array(THREADS, float32)
    tx = cuda.threadIdx.x
    s[tx] = 0.0
    for i in range(tx, values.shape[0], THREADS):
        s[tx] += values[i]
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if tx < half:
            s[tx] += s[tx + half]
        cuda.syncthreads()
        half //= 2
    if tx == 0:
        out[0] = s[0]


@cuda.jit
def diffusion(values, steps):
    """Let heat spread along a rod, from one half of shared memory to the other."""
    s = cuda.shared.array((2, SORTERS), float32)
    tx = cuda.threadIdx.x
    s[0, tx] = values[tx]
    cuda.syncthreads()
    for step in range(steps):
        now = step % 2
        if 0 < tx < SORTERS - 1:
            s[1 - now, tx] = 0.25 * s[now, tx - 1] + 0.5 * s[now, tx] + 0.25 * s[now, tx + 1]
        else:
            s[1 - now, tx] = s[now, tx]
        cuda.syncthreads()
    values[tx] = s[steps % 2, tx]


@cuda.jit
def life(cells, steps):
    """Let cells live and die, a row a thread."""
    now = cuda.shared.array((THREADS, THREADS), int32)
    new = cuda.shared.array((THREADS, THREADS), int32)
    y = cuda.threadIdx.x
    for x in range(THREADS):
        now[y, x] = cells[y, x]
    cuda.syncthreads()
    for _step in range(steps):
        for x in range(THREADS):
            alive = 0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    alive += now[(y + dy) % THREADS, (x + dx) % THREADS]
            alive -= now[y, x]
            new[y, x] = 1 if alive == 3 or (alive == 2 and now[y, x] == 1) else 0
        cuda.syncthreads()
        for x in range(THREADS):
            now[y, x] = new[y, x]
        cuda.syncthreads()
    for x in range(THREADS):
        cells[y, x] = now[y, x]


@cuda.jit
def search(values, found):
    """Look for a number of each thread's own, and return where it is."""
    tx = cuda.threadIdx.x
    for k in range(values.shape[0]):
        if values[k] == 31 * tx:
            found[tx] = k
            return
    found[tx] = -1


@cuda.jit
def julia(out, turns):
    """Follow a point of each thread's own, in complex numbers of single precision."""
    tx = cuda.threadIdx.x
    z = complex64(complex((tx % 8) / 32.0, (tx // 8) / 32.0))
    c = complex64(complex(-0.1, 0.1))
    k = 0
    while k < turns and abs(z) < 2.0:
        z = z * z + c
        k += 1
    out[tx] = k


@cuda.jit
def bounce(balls, steps):
    """Let balls fly to and fro, each a record."""
    tx = cuda.threadIdx.x
    for _step in range(steps):
        balls[tx].x += balls[tx].v * float32(0.01)
        if balls[tx].x > float32(1.0):
            balls[tx].v = -balls[tx].v
            balls[tx].hits += 1


@cuda.jit
def collatz(out, n):
    """Count the steps of numbers of each of many threads."""
    tx = cuda.threadIdx.x
    total = 0
    for first in range(tx + 1, n, MANY):
        k = first
        while k != 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            total += 1
    out[tx] = total


@cuda.jit
def exchanged(values, out):
    """Fill one row from another, and let them change their names."""
    tx = cuda.threadIdx.x
    before = cuda.local.array(THREADS, int32)
    after = cuda.local.array(THREADS, int32)
    for k in range(THREADS):
        before[k] = k
    for i in range(values.shape[1]):
        after[0] = i
        for k in range(1, THREADS):
            after[k] = min(before[k] + 1, after[k - 1] + 1, before[k - 1] + (values[tx, i] != k))
        before, after = after, before
    out[tx] = before[THREADS - 1]


@cuda.jit
def forces(places, out):
    """Add up what all points do to a thread's own."""
    tx = cuda.threadIdx.x
    total = 0.0
    for k in range(places.shape[0]):
        d = places[k] - places[tx]
        total += d / (d * d + 0.01)
    out[tx] = total


@cuda.jit
def step(a, k):
    """Let the only thread change an element."""
    i = cuda.grid(1)
    a[i] = a[i] * 0.5 + k


@cuda.jit
def pulled(x, f):
    """Compute what pulls each of two points."""
    i = cuda.grid(1)
    f[i] = -x[i] * 2.0


@cuda.jit
def moved(v, f, dt):
    """Move each of two by what pulls it."""
    i = cuda.grid(1)
    if i < v.shape[0]:
        v[i] += dt * f[i]


@cuda.jit
def merge(a, b):
    """Sort by merging runs, from one array into the other and back."""
    n, tx, width = a.shape[0], cuda.threadIdx.x, 1
    while width < n:
        low = tx * 2 * width
        while low < n:
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or a[i] <= a[j]):
                    b[k] = a[i]
                    i += 1
                else:
                    b[k] = a[j]
                    j += 1
            low += THREADS * 2 * width
        cuda.syncthreads()
        a, b = b, a
        width *= 2


@cuda.jit
def orthogonal(q, r):
    """Make columns orthogonal by Gram and Schmidt; one thread adds up."""
    tx = cuda.threadIdx.x
    m, n = q.shape
    for j in range(n):
        for k in range(j):
            if tx == 0:
                total = 0.0
                for i in range(m):
                    total += q[i, k] * q[i, j]
                r[k, j] = total
            cuda.syncthreads()
            for i in range(tx, m, THREADS):
                q[i, j] -= r[k, j] * q[i, k]
            cuda.syncthreads()
        if tx == 0:
            total = 0.0
            for i in range(m):
                total += q[i, j] * q[i, j]
            r[j, j] = math.sqrt(total)
        cuda.syncthreads()
        for i in range(tx, m, THREADS):
            q[i, j] /= r[j, j]
        cuda.syncthreads()


@cuda.jit
def summed_area(picture, sums):
    """Add up along rows, and then along columns what others have added up."""
    rows, columns = picture.shape
    for y in range(cuda.threadIdx.x, rows, THREADS):
        total = 0
        for x in range(columns):
            total += picture[y, x]
            sums[y, x] = total
    cuda.syncthreads()
    for x in range(cuda.threadIdx.x, columns, THREADS):
        total = 0
        for y in range(rows):
            total += sums[y, x]
            sums[y, x] = total


@cuda.jit
def matches(texts, pattern, back, counts):
    """Find a pattern in a text for each thread, by a table that one of them makes."""
    tx, n = cuda.threadIdx.x, pattern.shape[0]
    if tx == 0:
        k = 0
        for i in range(1, n):
            while k > 0 and pattern[k] != pattern[i]:
                k = back[k - 1]
            if pattern[k] == pattern[i]:
                k += 1
            back[i] = k
    cuda.syncthreads()
    k = 0
    for i in range(texts.shape[1]):
        while k > 0 and pattern[k] != texts[tx, i]:
            k = back[k - 1]
        if pattern[k] == texts[tx, i]:
            k += 1
        if k == n:
            counts[tx] += 1
            k = back[k - 1]


@cuda.jit
def probing(table, keys):
    """Put keys in a table, each in the next place that is free."""
    n = table.shape[0]
    for i in range(cuda.threadIdx.x, keys.shape[0], SORTERS):
        at = keys[i] % n
        while True:
            old = cuda.atomic.cas(table, at, -1, keys[i])
            if old == -1 or old == keys[i]:
                break
            at = (at + 1) % n


@cuda.jit
def levels(starts, edges, distance, queue, following, sizes):
    """Search a graph level by level; who finds a place first puts it in the queue."""
    tx, level = cuda.threadIdx.x, 0
    while sizes[0] > 0:
        for i in range(tx, sizes[0], SORTERS):
            place = queue[i]
            for e in range(starts[place], starts[place + 1]):
                if cuda.atomic.cas(distance, edges[e], -1, level + 1) == -1:
                    following[cuda.atomic.add(sizes, 1, 1)] = edges[e]
        cuda.syncthreads()
        for i in range(tx, sizes[1], SORTERS):
            queue[i] = following[i]
        cuda.syncthreads()
        if tx == 0:
            sizes[0], sizes[1] = sizes[1], 0
        cuda.syncthreads()
        level += 1


@cuda.jit
def relaxed(sources, targets, lengths, distance, rounds):
    """Shorten the ways to all places of a graph, edge by edge."""
    for _round in range(rounds):
        for e in range(cuda.threadIdx.x, sources.shape[0], SORTERS):
            far = distance[sources[e]] + lengths[e]
            if far < distance[targets[e]]:
                cuda.atomic.min(distance, targets[e], far)
        cuda.syncthreads()


@cuda.jit
def counted(values, counts):
    """Count with compare-and-swap: who finds another count than expected tries again."""
    for i in range(cuda.threadIdx.x, values.shape[0], THREADS):
        at = values[i] % counts.shape[0]
        expected = counts[at]
        while True:
            found = cuda.atomic.cas(counts, at, expected, expected + 1)
            if found == expected:
                break
            expected = found


@cuda.jit
def locked(lock, total, n):
    """Add up what blocks have, one block after the other, with a lock that the first thread of each takes."""
    for k in range(n):
        if cuda.threadIdx.x == 0:
            while cuda.atomic.cas(lock, 0, 0, 1) != 0:
                pass
            cuda.threadfence()
            total[0] += k + cuda.blockIdx.x
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
        cuda.syncthreads()


def size(n, power=1):
    """Return a size for a share of the work."""
    return max(1, int(n * SCALE ** (1 / power)))


def main():
    """Run one kernel; returns what it computed."""
    rng = np.random.default_rng(0)
    match NAMES[KERNEL]:
        case "columns":
            out = np.zeros(BINS, np.int32)
            columns[1, THREADS](rng.integers(0, 1000, size(700_000), dtype=np.int32), out)
        case "rows_by_insertion":
            out = rng.random((size(8), SORTERS, LENGTH), dtype=np.float32)
            rows_by_insertion[1, SORTERS](out)
        case "rows_by_bubbles":
            out = rng.integers(0, 1000, (THREADS, size(LONG - 1, 2)), dtype=np.int32)
            rows_by_bubbles[1, THREADS](out)
        case "stacks":
            out = np.zeros(THREADS, np.int32)
            stacks[1, THREADS](out, size(110_000))
        case "ring":
            out = np.zeros(THREADS, np.float32)
            ring[1, THREADS](rng.random(THREADS * size(150), dtype=np.float32), out)
        case "fill":
            out = np.zeros(THREADS, np.int32)
            fill[1, THREADS](out, size(10_000))
        case "odd_even":
            out = rng.random((size(1), 2 * SORTERS), dtype=np.float32)
            odd_even[1, SORTERS](out)
        case "scan":
            out = np.zeros(THREADS * size(12), np.int32)
            scan[1, THREADS](rng.integers(0, 100, len(out), dtype=np.int32), out)
        case "product":
            n = TILE * size(4, 3)
            a, b, out = (rng.random((n, n), dtype=np.float32) for _ in range(3))
            product[1, (TILE, TILE)](a, b, out)
        case "partial_sums":
            out = np.zeros(1, np.float32)
            partial_sums[1, THREADS](rng.random(size(1_100_000), dtype=np.float32), out)
        case "diffusion":
            out = rng.random(SORTERS, dtype=np.float32)
            diffusion[1, SORTERS](out, size(140))
        case "life":
            out = rng.integers(0, 2, (THREADS, THREADS), dtype=np.int32)
            life[1, THREADS](out, size(48))
        case "search":
            out = np.zeros(SORTERS, np.int32)
            search[1, SORTERS](rng.permutation(size(40_000)).astype(np.int32), out)
        case "julia":
            out = np.zeros(SORTERS, np.int32)
            julia[1, SORTERS](out, size(20_000))
        case "bounce":
            balls = np.zeros(THREADS, BALL)
            balls["v"] = rng.random(THREADS)
            bounce[1, THREADS](balls, size(1500))
            out = balls["x"]
        case "collatz":
            out = np.zeros(MANY, np.int32)
            collatz[1, MANY](out, size(20_000))
        case "exchanged":
            out = np.zeros(8, np.int32)
            exchanged[1, 8](rng.integers(0, THREADS, (8, size(2000)), dtype=np.int32), out)
        case "launches":
            out = rng.random(THREADS)
            for _ in range(size(150)):
                places = out.copy()
                forces[1, THREADS](places, out)
        case "small_launches":
            out = np.ones(1)
            for k in range(size(2000)):
                step[1, 1](out, k)
        case "launches_in_turn":
            x, v, f = (cuda.to_device(start) for start in (np.ones(2), np.zeros(2), np.zeros(2)))
            for _ in range(size(700)):
                pulled[1, 2](x, f)
                moved[1, 2](v, f, 0.01)
                moved[1, 2](x, v, 0.01)
            out = x.copy_to_host()
        case "merge":
            out = rng.integers(0, 100_000, 1 << 13, dtype=np.int32)
            merge[1, THREADS](out, np.zeros_like(out))
        case "orthogonal":
            out = rng.random((SORTERS, size(24, 2)))
            orthogonal[1, THREADS](out, np.zeros((len(out[0]), len(out[0]))))
        case "summed_area":
            out = np.zeros((size(300, 2), size(300, 2)), np.int64)
            summed_area[1, THREADS](rng.integers(0, 256, out.shape), out)
        case "matches":
            out = np.zeros(THREADS, np.int32)
            texts, pattern = (
                rng.integers(0, 2, (THREADS, size(4000)), dtype=np.int8),
                rng.integers(0, 2, 7, dtype=np.int8),
            )
            matches[1, THREADS](texts, pattern, np.zeros(7, np.int32), out)
        case "probing":
            n = size(40_000)  # of more the simulator may take minutes: its threads wait for each other
            out = np.full(n, -1, np.int32)
            probing[1, SORTERS](out, rng.integers(0, 1_000_000, n // 2, dtype=np.int32))
            out = np.sort(out)
        case "levels":
            n = size(30_000)
            starts = np.arange(0, 4 * n + 1, 4, dtype=np.int32)
            queues = np.zeros((2, n), np.int32)
            out = np.full(n, -1, np.int32)
            out[0] = 0
            edges = rng.integers(0, n, 4 * n, dtype=np.int32)
            levels[1, SORTERS](starts, edges, out, *queues, np.array([1, 0], np.int32))
        case "relaxed":
            n = size(1500)
            out = np.full(n, 1_000_000, np.int32)
            out[0] = 0
            sources, targets = rng.integers(0, n, (2, 4 * n), dtype=np.int32)
            relaxed[1, SORTERS](sources, targets, rng.integers(1, 100, 4 * n, dtype=np.int32), out, 20)
        case "counted":
            out = np.zeros(1024, np.int32)
            counted[1, THREADS](rng.integers(0, 1024, size(20_000), dtype=np.int32), out)
        case "locked":
            out = np.zeros(1, np.int32)
            locked[8, THREADS](np.zeros(1, np.int32), out, size(60))
    return out
