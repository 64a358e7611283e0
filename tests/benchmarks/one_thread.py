"""What first steps look like: kernels of one thread that are nothing but loops, by their number."""

import numpy as np
from numba import cuda, float32, int32

NAMES = ["product", "bubble", "scan", "sieve", "lcs", "lcg", "collatz", "histogram"]
NAMES += ["mandelbrot", "mandelbrot_in_floats", "mandelbrot_by_abs", "called"]
NAMES += ["bubble_in_shared", "insertion_in_shared", "stack_in_shared"]
NAMES += ["sums_of_rows", "products_of_rows", "quick_in_rows", "merge_of_slices"]
KERNEL = 0
MOST = 5000
SCALE = 1.0


@cuda.jit
def product(a, b, c):
    """Multiply two matrices."""
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


@cuda.jit
def bubble(values):
    """Sort."""
    n = values.shape[0]
    for i in range(n):
        for j in range(n - i - 1):
            if values[j] > values[j + 1]:
                t = values[j]
                values[j] = values[j + 1]
                values[j + 1] = t


@cuda.jit
def scan(values, sums):
    """Add up in single precision."""
    total = np.float32(0)
    for i in range(values.shape[0]):
        total += values[i]
        sums[i] = total


@cuda.jit
def sieve(composite):
    """Cross out multiples."""
    n = composite.size
    i = 2
    while i * i < n:
        if composite[i] == 0:
            for j in range(i * i, n, i):
                composite[j] = 1
        i += 1


@cuda.jit
def lcs(a, b, table):
    """Find the longest common subsequence."""
    for i in range(1, table.shape[0]):
        for j in range(1, table.shape[1]):
            if a[i - 1] == b[j - 1]:
                table[i, j] = table[i - 1, j - 1] + 1
            else:
                table[i, j] = max(table[i - 1, j], table[i, j - 1])


@cuda.jit
def lcg(out, n):
    """Draw numbers."""
    x = 12345
    for i in range(n):
        x = (x * 1103515245 + 12345) % 2147483648
        out[i % 64] = x


@cuda.jit
def collatz(out, n):
    """Count the steps of each number."""
    for i in range(1, n):
        x = i
        steps = 0
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            steps += 1
        out[i] = steps


@cuda.jit
def mandelbrot(out, most):
    """Count the steps of each point."""
    height, width = out.shape
    for i in range(height):
        for j in range(width):
            c = complex(j * 3.0 / width - 2.0, i * 2.0 / height - 1.0)
            z = 0j
            n = 0
            while n < most and z.real * z.real + z.imag * z.imag < 4.0:
                z = z * z + c
                n += 1
            out[i, j] = n


@cuda.jit
def mandelbrot_in_floats(out, most):
    """Count the steps of each point."""
    height, width = out.shape
    for i in range(height):
        for j in range(width):
            x0 = j * 3.0 / width - 2.0
            y0 = i * 2.0 / height - 1.0
            x = 0.0
            y = 0.0
            n = 0
            while x * x + y * y <= 4.0 and n < most:
                x, y = x * x - y * y + x0, 2.0 * x * y + y0
                n += 1
            out[i, j] = n


@cuda.jit
def mandelbrot_by_abs(out, most):
    """Count the steps of each point."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            c = complex(j * 3.0 / out.shape[1] - 2.0, i * 2.0 / out.shape[0] - 1.0)
            z = 0j
            steps = 0
            for n in range(most):
                z = z * z + c
                steps = n
                if abs(z) > 2.0:
                    break
            out[i, j] = steps


@cuda.jit
def histogram(values, bins):
    """Count by atomics."""
    for i in range(values.shape[0]):
        cuda.atomic.add(bins, values[i] % 16, 1)


@cuda.jit(device=True)
def drawn(x):
    """Return the next number."""
    if x % 2 == 0:
        return x // 2
    return (x * 1103515245 + 12345) % 2147483648


@cuda.jit
def called(out, n):
    """Draw numbers by a function."""
    x = 12345
    for i in range(n):
        x = drawn(x)
        out[i % 64] = x


@cuda.jit
def bubble_in_shared(values):
    """Sort in shared memory."""
    s = cuda.shared.array(MOST, float32)
    n = values.shape[0]
    for i in range(n):
        s[i] = values[i]
    for i in range(n):
        for j in range(n - i - 1):
            if s[j] > s[j + 1]:
                t = s[j]
                s[j] = s[j + 1]
                s[j + 1] = t
    for i in range(n):
        values[i] = s[i]


@cuda.jit
def insertion_in_shared(values):
    """Sort in shared memory by insertion."""
    s = cuda.shared.array(MOST, float32)
    n = values.shape[0]
    for i in range(n):
        s[i] = values[i]
    for i in range(1, n):
        key = s[i]
        j = i - 1
        while j >= 0 and s[j] > key:
            s[j + 1] = s[j]
            j -= 1
        s[j + 1] = key
    for i in range(n):
        values[i] = s[i]


@cuda.jit
def stack_in_shared(out, n):
    """Take numbers apart with a stack in shared memory."""
    stack = cuda.shared.array(64, int32)
    total = 0
    for k in range(n):
        stack[0] = k % 97 + 20
        top = 1
        while top > 0:
            top -= 1
            x = stack[top]
            total += x
            if x > 1:
                stack[top] = x // 2
                stack[top + 1] = x // 3
                top += 2
        out[k % 64] = total


@cuda.jit(device=True)
def total(row):
    """Add up."""
    s = 0.0
    for k in range(row.shape[0]):
        s += row[k]
    return s


@cuda.jit
def sums_of_rows(a, out):
    """Add up every row by a function."""
    for i in range(a.shape[0]):
        out[i] = total(a[i])


@cuda.jit(device=True)
def dot(x, y):
    """Multiply two rows."""
    s = 0.0
    for k in range(len(x)):
        s += x[k] * y[k]
    return s


@cuda.jit
def products_of_rows(a, b, out):
    """Multiply every row by every other."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            out[i, j] = dot(a[i, :], b[j])


@cuda.jit(device=True)
def swap(a, i, j):
    """Exchange two elements."""
    t = a[i]
    a[i] = a[j]
    a[j] = t


@cuda.jit(device=True)
def partition(a, low, high):
    """Put what is no larger than the last element before it; return its place."""
    pivot = a[high]
    i = low - 1
    for j in range(low, high):
        if a[j] <= pivot:
            i += 1
            swap(a, i, j)
    swap(a, i + 1, high)
    return i + 1


@cuda.jit
def quick_in_rows(a):
    """Sort every row."""
    stack = cuda.local.array(200, int32)
    for r in range(a.shape[0]):
        stack[0] = 0
        stack[1] = a.shape[1] - 1
        top = 2
        while top > 0:
            top -= 2
            low = stack[top]
            high = stack[top + 1]
            if low < high:
                p = partition(a[r], low, high)
                stack[top] = low
                stack[top + 1] = p - 1
                stack[top + 2] = p + 1
                stack[top + 3] = high
                top += 4


@cuda.jit(device=True)
def merge(a, b, out):
    """Merge two sorted slices."""
    i = 0
    j = 0
    for k in range(out.shape[0]):
        if j >= b.shape[0] or (i < a.shape[0] and a[i] <= b[j]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1


@cuda.jit
def merge_of_slices(a, out):
    """Sort by merging ever longer slices."""
    n = a.shape[0]
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle = min(low + width, n)
            high = min(low + 2 * width, n)
            merge(a[low:middle], a[middle:high], out[low:high])
        for k in range(n):
            a[k] = out[k]
        width *= 2


def size(n, power=1):
    """Return a size for a share of the work."""
    return max(2, int(n * SCALE ** (1 / power)))


def main():
    """Run one kernel; returns what it computed."""
    rng = np.random.default_rng(0)
    match NAMES[KERNEL]:
        case "product":
            n = size(60, 3)
            out = np.zeros((n, n))
            product[1, 1](rng.random((n, n)), rng.random((n, n)), out)
        case "bubble_in_shared":
            out = rng.random(size(2000, 2), dtype=np.float32)
            bubble_in_shared[1, 1](out)
        case "insertion_in_shared":
            out = rng.random(size(3200, 2), dtype=np.float32)
            insertion_in_shared[1, 1](out)
        case "stack_in_shared":
            out = np.zeros(64, np.int32)
            stack_in_shared[1, 1](out, size(40_000))
        case "bubble":
            out = rng.random(size(450, 2), dtype=np.float32)
            bubble[1, 1](out)
        case "scan":
            n = size(200_000)
            out = np.zeros(n, np.float32)
            scan[1, 1](rng.random(n, dtype=np.float32), out)
        case "sieve":
            out = np.zeros(size(200_000), np.int32)
            sieve[1, 1](out)
        case "lcs":
            n = size(300, 2)
            out = np.zeros((n + 1, n + 1), np.int32)
            lcs[1, 1](rng.integers(0, 4, n, dtype=np.int32), rng.integers(0, 4, n, dtype=np.int32), out)
        case "lcg":
            out = np.zeros(64, np.int64)
            lcg[1, 1](out, size(500_000))
        case "called":
            out = np.zeros(64, np.int64)
            called[1, 1](out, size(50_000))
        case "collatz":
            out = np.zeros(size(15_000), np.int64)
            collatz[1, 1](out, len(out))
        case "histogram":
            out = np.zeros(16, np.int32)
            histogram[1, 1](rng.integers(0, 1000, size(200_000), dtype=np.int32), out)
        case "sums_of_rows":
            a = rng.random((size(400), 400))
            out = np.zeros(len(a))
            sums_of_rows[1, 1](a, out)
        case "products_of_rows":
            n = size(60, 2)
            out = np.zeros((n, n))
            products_of_rows[1, 1](rng.random((n, 50)), rng.random((n, 50)), out)
        case "quick_in_rows":
            out = rng.random((size(12), 800), dtype=np.float32)
            quick_in_rows[1, 1](out)
        case "merge_of_slices":
            out = np.zeros(size(10_000))
            merge_of_slices[1, 1](rng.random(len(out)), out)
        case name:
            n = size(70, 2)
            out = np.zeros((n, n), np.int32)
            globals()[name][1, 1](out, 300)
    return out
