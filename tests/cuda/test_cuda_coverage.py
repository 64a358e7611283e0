"""What ``smemviz features`` says of CUDA C++ is so."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers import hopper_kernels
from numpy.typing import NDArray

import smemviz
from smemviz.engines.lockstep.coverage import ptx_rows
from smemviz.engines.lockstep.ptx.code.module import PtxError
from smemviz.engines.lockstep.ptx.code.parse import parse
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.steps import TABLE, steps_of

PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k()
{{
    .reg .b32 %r<9>;
    .reg .b64 %l<9>;
    .reg .f32 %f<9>;
    .reg .f64 %d<9>;
    .reg .pred %p<9>;
    {example}
    ret;
}}
"""


def test_what_is_out_is_refused_as_it_is_said():
    for row in [row for row in ptx_rows() if not row.executed]:
        with pytest.raises(PtxError) as refused:
            steps_of(Kernel(parse(PTX.format(example=row.example)), "k"))
        assert refused.value.what == row.says


def test_every_opcode_of_the_table_is_listed_once(command):
    said = [row for row in command("features", "--json").json["features"] if row["group"].startswith("PTX")]
    opcodes = [row["feature"] for row in said if row["executed"] and "%" not in row["feature"]]
    assert len(opcodes) == len(set(opcodes))
    assert {*TABLE, "bar", "barrier", "bra", "brx", "call", "exit", "ret", "trap"} - {*opcodes} == {
        "alloca",
        "malloc",
        "free",
    }


def test_readings_of_a_clock_are_as_far_apart_as_it_is_said(command):
    (row,) = [row for row in command("features", "--json").json["features"] if "%clock" in row["feature"]]
    assert "each reading is 64 later than the one before" in row["otherwise"]
    text = """__global__ void k(long long *out) {
    long long start = clock64();
    out[1] = clock64() - start;
    while (clock64() - start < 1000)
        out[0] += 1;
}
"""
    out = np.zeros(2, np.int64)
    smemviz.cuda_cpp(text)["k"][1, 1](out)
    assert out.tolist() == [1000 // 64 - 1, 64]


Ints, Floats = NDArray[np.int64], NDArray[np.float32]
I, J = np.arange(32) * 7919 - 100_000, (np.arange(32) % 5 + 1) * 37  # noqa: E741
X, Y = (np.arange(32) / 8 + 0.125).astype(np.float32), np.where(np.arange(32) % 3, -2.5, 4).astype(np.float32)
LOW_HALF = ((I & 0xFFFF) ^ 0x8000) - 0x8000

WHOLE: dict[str, Callable[[Ints, Ints], object]] = {
    "div.s32 %0, %1, %2;": lambda a, b: np.fix(a / b),
    "rem.s32 %0, %1, %2;": np.fmod,
    "neg.s32 %0, %1;": lambda a, b: -a,
    "and.b32 %0, %1, %2;": lambda a, b: a & b,
    "or.b32 %0, %1, %2;": lambda a, b: a | b,
    "xor.b32 %0, %1, %2;": lambda a, b: a ^ b,
    "mad24.lo.s32 %0, %1, %2, %2;": lambda a, b: a * b + b,
    "slct.s32.s32 %0, %1, %2, %1;": lambda a, b: np.where(a >= 0, a, b),
    "set.lt.u32.s32 %0, %1, %2;": lambda a, b: np.where(a < b, -1, 0),
    "{ .reg .pred p; setp.ge.s32 p, %1, %2; selp.s32 %0, %1, %2, p; }": np.maximum,
    "dp2a.lo.s32.s32 %0, %1, %2, %2;": lambda a, b: LOW_HALF * ((b & 255 ^ 128) - 128) + b,
    "{ .reg .u32 t; sub.cc.u32 t, %1, %2; subc.u32 %0, 5, 0; }": (
        lambda a, b: 5 - ((a & 0xFFFFFFFF) < (b & 0xFFFFFFFF)).astype(int)
    ),
    "{ .reg .u32 t; mad.lo.cc.u32 t, %1, %1, %1; madc.hi.u32 %0, %1, %1, 0; }": (
        lambda a, b: ((a & 0xFFFFFFFF) * (a & 0xFFFFFFFF) + (a & 0xFFFFFFFF)) >> 32
    ),
    "shfl.sync.bfly.b32 %0, %1, 1, 31, 0xffffffff;": lambda a, b: a[np.arange(32) ^ 1],
    "vote.sync.ballot.b32 %0, 1, 0xffffffff;": lambda a, b: -1,
    "match.any.sync.b32 %0, %2, 0xffffffff;": lambda a, b: [sum(1 << n for n in range(32) if b[n] == one) for one in b],
    "redux.sync.max.s32 %0, %1, 0xffffffff;": lambda a, b: a.max(),
    "activemask.b32 %0;": lambda a, b: -1,
    "{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.s32 %0, 1, 0, p; }": lambda a, b: np.arange(32) == 0,
}
REAL: dict[str, tuple[Callable[[Floats, Floats], object], float]] = {
    "copysign.f32 %0, %2, %1;": (np.copysign, 0),
    "fma.rn.f32 %0, %1, %2, %1;": (lambda x, y: x * y + x, 1e-6),
    "ex2.approx.f32 %0, %1;": (lambda x, y: np.exp2(x), 1e-5),
    "lg2.approx.f32 %0, %1;": (lambda x, y: np.log2(x), 1e-5),
    "sin.approx.f32 %0, %1;": (lambda x, y: np.sin(x), 1e-5),
    "cos.approx.f32 %0, %1;": (lambda x, y: np.cos(x), 1e-5),
    "tanh.approx.f32 %0, %1;": (lambda x, y: np.tanh(x), 1e-3),
    "sqrt.rn.f32 %0, %1;": (lambda x, y: np.sqrt(x), 0),
    "rcp.rn.f32 %0, %2;": (lambda x, y: 1 / y, 0),
    "rsqrt.approx.f32 %0, %1;": (lambda x, y: 1 / np.sqrt(x), 1e-5),
    "{ .reg .pred p; testp.normal.f32 p, %1; selp.f32 %0, %1, %2, p; }": (lambda x, y: x, 0),
}
# Executed without an effect, or seen in what C++ makes of it: the tests beside this one run them.
ELSEWHERE = {
    *("__assertfail", "alloca", "atom", "cvta", "free", "isspacep", "ld", "ldu", "malloc", "red", "vprintf"),
    *("applypriority", "brkpt", "createpolicy", "discard", "fence", "griddepcontrol", "membar", "nanosleep"),
    *("pmevent", "prefetch", "prefetchu", "setmaxnreg"),
}


def results(instructions, kind, letter):
    """Run each instruction in all lanes of a warp; one row of results each."""
    lines = "\n".join(
        f'    {{ {kind} d; asm volatile("{text}" : "={letter}"(d) : "{letter}"(a[i]), "{letter}"(b[i]));'
        f" out[{32 * number} + i] = d; }}"
        for number, text in enumerate(instructions)
    )
    dtype, given = (np.int32, (I, J)) if kind == "int" else (np.float32, (X, Y))
    out = np.zeros((len(instructions), 32), dtype)
    text = f"__global__ void k({kind} *out, const {kind} *a, const {kind} *b) {{\n    int i = threadIdx.x;\n{lines}\n}}"
    smemviz.cuda_cpp(text)["k"][1, 32](out, *(one.astype(dtype) for one in given))
    return out


def test_instructions_on_whole_numbers_give_what_numpy_gives():
    for (text, reference), found in zip(WHOLE.items(), results(dict(WHOLE), "int", "r"), strict=True):
        wanted = np.broadcast_to(np.asarray(reference(I, J)).astype(np.int64).astype(np.int32), 32)
        assert np.array_equal(found, wanted), text


def test_instructions_on_floats_give_what_numpy_gives():
    for (text, (reference, tolerance)), found in zip(REAL.items(), results(dict(REAL), "float", "f"), strict=True):
        wanted = np.asarray(reference(X, Y), np.float32)
        assert np.allclose(found, wanted, rtol=tolerance, atol=tolerance), text


def test_every_opcode_that_gives_a_number_stands_in_a_test():
    for opcode in sorted({*TABLE} - ELSEWHERE):
        files = (*Path(__file__).parent.glob("test_cuda_*.py"), Path(hopper_kernels.__file__))
        texts = "".join(path.read_text(encoding="utf-8") for path in files)
        assert re.search(rf"(?<![\w.]){opcode}\.[a-z]", texts)
