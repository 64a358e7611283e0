"""What first steps look like: kernels of one thread that are nothing but loops, by their number."""

import numpy as np
from numba import cuda, float32, int32

NAMES = ["product", "bubble", "scan", "sieve", "lcs", "lcg", "collatz", "histogram"]
NAMES += ["mandelbrot", "mandelbrot_in_floats", "mandelbrot_by_abs", "called"]
FLOORS = {"bubble_in_shared": 0.8, "insertion_in_shared": 0.65, "stack_in_shared": 0.8}
NAMES += FLOORS
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
        case name:
            n = size(70, 2)
            out = np.zeros((n, n), np.int32)
            globals()[name][1, 1](out, 300)
    return out
