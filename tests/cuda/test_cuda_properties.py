"""The arithmetic of PTX against Python's whole numbers and fractions, for operands that Hypothesis chooses.

What each instruction gives is written here from the PTX manual, number by number, and knows nothing of NumPy.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import smemviz

LANES = 32
EDGES = {
    bits: (0, 1, 2, 3, (1 << bits) - 1, 1 << bits - 1, (1 << bits - 1) - 1, (1 << bits - 1) + 1) for bits in (32, 64)
}


def words(bits):
    return st.integers(0, (1 << bits) - 1) | st.sampled_from(EDGES[bits])


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


@lru_cache(maxsize=1)
def _kernel(instructions, bits, result):
    """Compile all instructions of one width into one kernel; each gives one row of results."""
    kind = {32: "unsigned", 64: "unsigned long long"}
    letter = {32: "r", 64: "l"}
    lines = "\n".join(
        f'    {{ {kind[result]} d; asm volatile("{text}" : "={letter[result]}"(d) : "{letter[bits]}"(a[i]), '
        f'"{letter[bits]}"(b[i]), "r"(c[i]), "r"(e[i])); out[{n} * {LANES} + i] = d; }}'
        for n, text in enumerate(instructions)
    )
    return smemviz.cuda_cpp(
        f"__global__ void k({kind[result]} *out, const {kind[bits]} *a, const {kind[bits]} *b, const unsigned *c, "
        f"const unsigned *e) {{\n    int i = threadIdx.x;\n{lines}\n}}\n"
    )["k"]


Reference = Callable[[int, int, int, int], int]


def check(table, bits, result, rows):
    """Run every instruction on rows of operands, one a lane, and compare."""
    rows = [rows[n % len(rows)] for n in range(LANES)]
    dtype = {32: np.uint32, 64: np.uint64}
    columns = [
        np.array(column, dtype[size])
        for column, size in zip(zip(*rows, strict=True), (bits, bits, 32, 32), strict=True)
    ]
    out = np.zeros((len(table), LANES), dtype[result])
    _kernel(tuple(table), bits, result)[1, LANES](out, *columns)
    for (text, reference), found in zip(table.items(), out.tolist(), strict=True):
        expected = [reference(*row) & (1 << result) - 1 for row in rows]
        for row, got, wanted in zip(rows, found, expected, strict=True):
            assert got == wanted, (text, [hex(one) for one in row], hex(got), hex(wanted))


def shift_right(value, by):
    return value >> min(by, 64)


def extracted(value, start, length, bits, *, sign):
    start, length = start & 255, length & 255
    if not sign:
        return (value >> start) & ((1 << length) - 1)
    if length == 0:
        return 0
    last = value >> min(start + length - 1, bits - 1) & 1
    found = 0
    for place in range(bits):
        one = value >> (start + place) & 1 if place < length and start + place < bits else last
        found |= one << place
    return found


def inserted(a, b, start, length, bits):
    start, length = start & 255, length & 255
    for place in range(length):
        if start + place < bits:
            b = b & ~(1 << start + place) | (a >> place & 1) << start + place
    return b


def permuted(a, b, choice):
    both = [a >> 8 * n & 255 for n in range(4)] + [b >> 8 * n & 255 for n in range(4)]
    found = 0
    for n in range(4):
        which = choice >> 4 * n & 15
        byte = both[which & 7]
        found |= (255 * (byte >> 7) if which & 8 else byte) << 8 * n
    return found


def whole(bits):
    """Integer instructions whose result is as wide as their operands."""

    def s(value):
        return signed(value, bits)

    n = bits
    return {
        f"add.u{n} %0, %1, %2;": lambda a, b, c, e: a + b,
        f"sub.s{n} %0, %1, %2;": lambda a, b, c, e: a - b,
        f"mul.lo.u{n} %0, %1, %2;": lambda a, b, c, e: a * b,
        f"mul.hi.u{n} %0, %1, %2;": lambda a, b, c, e: a * b >> n,
        f"mul.hi.s{n} %0, %1, %2;": lambda a, b, c, e: s(a) * s(b) >> n,
        f"mad.hi.s{n} %0, %1, %2, %1;": lambda a, b, c, e: (s(a) * s(b) >> n) + a,
        f"min.s{n} %0, %1, %2;": lambda a, b, c, e: min(s(a), s(b)),
        f"max.u{n} %0, %1, %2;": lambda a, b, c, e: max(a, b),
        f"abs.s{n} %0, %1;": lambda a, b, c, e: abs(s(a)),
        f"shl.b{n} %0, %1, %3;": lambda a, b, c, e: a << min(c, n),
        f"shr.u{n} %0, %1, %3;": lambda a, b, c, e: shift_right(a, c),
        f"shr.s{n} %0, %1, %3;": lambda a, b, c, e: shift_right(s(a), c),
        f"bfe.u{n} %0, %1, %3, %4;": lambda a, b, c, e: extracted(a, c, e, n, sign=False),
        f"bfe.s{n} %0, %1, %3, %4;": lambda a, b, c, e: extracted(a, c, e, n, sign=True),
        f"bfi.b{n} %0, %1, %2, %3, %4;": lambda a, b, c, e: inserted(a, b, c, e, n),
        f"brev.b{n} %0, %1;": lambda a, b, c, e: int(f"{a:0{n}b}"[::-1], 2),
        f"not.b{n} %0, %1;": lambda a, b, c, e: ~a,
        f"cnot.b{n} %0, %1;": lambda a, b, c, e: int(a == 0),
    }


WORDS = {
    **whole(32),
    "prmt.b32 %0, %1, %2, %3;": lambda a, b, c, e: permuted(a, b, c),
    "popc.b32 %0, %1;": lambda a, b, c, e: a.bit_count(),
    "clz.b32 %0, %1;": lambda a, b, c, e: 32 - a.bit_length(),
    "bfind.u32 %0, %1;": lambda a, b, c, e: a.bit_length() - 1,
    "bfind.s32 %0, %1;": lambda a, b, c, e: (a if signed(a, 32) >= 0 else ~a & 0xFFFFFFFF).bit_length() - 1,
    "add.sat.s32 %0, %1, %2;": lambda a, b, c, e: max(-(2**31), min(2**31 - 1, signed(a, 32) + signed(b, 32))),
    "sub.sat.s32 %0, %1, %2;": lambda a, b, c, e: max(-(2**31), min(2**31 - 1, signed(a, 32) - signed(b, 32))),
    "sad.s32 %0, %1, %2, %3;": lambda a, b, c, e: abs(signed(a, 32) - signed(b, 32)) + c,
    "mul24.lo.u32 %0, %1, %2;": lambda a, b, c, e: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "mul24.lo.s32 %0, %1, %2;": lambda a, b, c, e: signed(a, 24) * signed(b, 24),
    "shf.l.wrap.b32 %0, %1, %2, %3;": lambda a, b, c, e: ((b << 32 | a) << (c & 31)) >> 32,
    "shf.l.clamp.b32 %0, %1, %2, %3;": lambda a, b, c, e: ((b << 32 | a) << min(c, 32)) >> 32,
    "shf.r.wrap.b32 %0, %1, %2, %3;": lambda a, b, c, e: (b << 32 | a) >> (c & 31),
    "shf.r.clamp.b32 %0, %1, %2, %3;": lambda a, b, c, e: (b << 32 | a) >> min(c, 32),
    "lop3.b32 %0, %1, %2, %3, 0x1b;": lambda a, b, c, e: sum(
        (0x1B >> ((a >> n & 1) * 4 + (b >> n & 1) * 2 + (c >> n & 1)) & 1) << n for n in range(32)
    ),
    **{
        f"{{ .reg .{kind} t; cvt.sat.{kind}.{source} t, %1; cvt.{'s' if kind[0] == 's' else 'u'}32.{kind} %0, t; }}": (
            lambda a, b, c, e, low=low, high=high, source=source: max(
                low, min(high, signed(a, 32) if source == "s32" else a)
            )
        )
        for kind, low, high in (("s16", -(2**15), 2**15 - 1), ("u16", 0, 2**16 - 1))
        for source in ("s32", "u32")
    },
    "cvt.sat.u32.s32 %0, %1;": lambda a, b, c, e: max(0, signed(a, 32)),
    "cvt.sat.s32.u32 %0, %1;": lambda a, b, c, e: min(2**31 - 1, a),
    "cvt.sat.u8.s32 %0, %1;": lambda a, b, c, e: max(0, min(255, signed(a, 32))),
    "cvt.sat.s8.s32 %0, %1;": lambda a, b, c, e: max(-128, min(127, signed(a, 32))),
}
small = st.integers(0, 80) | st.sampled_from((0, 1, 31, 32, 33, 63, 64, 255, 256, 2**31, 2**32 - 1))
rows_of = {
    bits: st.lists(st.tuples(words(bits), words(bits), small | words(32), small), min_size=8) for bits in (32, 64)
}


@given(rows_of[32])
def test_instructions_of_32_bits(rows):
    check(WORDS, 32, 32, rows)


@given(rows_of[64])
def test_instructions_of_64_bits(rows):
    check(whole(64), 64, 64, rows)


@given(rows_of[32])
def test_products_that_are_twice_as_wide(rows):
    wide: dict[str, Reference] = {
        "mul.wide.u32 %0, %1, %2;": lambda a, b, c, e: a * b,
        "mul.wide.s32 %0, %1, %2;": lambda a, b, c, e: signed(a, 32) * signed(b, 32),
        "{ .reg .u64 t; cvt.u64.u32 t, %3; mad.wide.u32 %0, %1, %2, t; }": lambda a, b, c, e: a * b + c,
        "cvt.s64.s32 %0, %1;": lambda a, b, c, e: signed(a, 32),
        "cvt.u64.u32 %0, %1;": lambda a, b, c, e: a,
    }
    check(wide, 32, 64, rows)


def nearest_even(value):
    return round(value)


ROUND: dict[str, Callable[[float], int]] = {"rni": nearest_even, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
FLOATS = st.floats(width=32) | st.sampled_from((0.5, 1.5, 2.5, -0.5, -1.5, 2.0**31, -(2.0**31), 2.0**32, 1e30, -1e30))


def converted(bits, mode, *, sign):
    """Round a float to a whole number of 32 bits; what is none is 0, what is out of range the nearest there is."""
    low, high = (-(2**31), 2**31 - 1) if sign else (0, 2**32 - 1)

    def reference(a, b, c, e):
        value = float(np.array(a, np.uint32).view(np.float32))
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return high if value > 0 else low
        return max(low, min(high, ROUND[mode](value)))

    return reference


@given(st.lists(FLOATS, min_size=8, max_size=LANES))
def test_floats_are_rounded_to_whole_numbers_as_it_is_asked_for(values):
    table = {
        f"{{ .reg .f32 t; mov.b32 t, %1; cvt.{mode}.{kind}32.f32 %0, t; }}": converted(32, mode, sign=kind == "s")
        for mode in ROUND
        for kind in "su"
    }
    bits = np.array(values, np.float32).view(np.uint32).tolist()
    check(table, 32, 32, [(one, 0, 0, 0) for one in bits])


def test_the_reference_agrees_with_examples_worked_out_by_hand():
    assert permuted(0x33221100, 0x77665544, 0x7531) == 0x77553311
    assert permuted(0x80, 0, 0x0008) == 0x808080FF
    assert inserted(0xF, 0, 4, 2, 32) == 0x30
    assert signed(extracted(0b1000, 3, 1, 32, sign=True), 32) == -1
