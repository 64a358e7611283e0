"""What ``smemviz features`` says of CUDA C++ is so."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.commands import Command

import smemviz
from smemviz.engines.lockstep.coverage import Row, ptx_rows
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


@pytest.mark.parametrize("row", [row for row in ptx_rows() if not row.executed], ids=lambda row: row.feature)
def test_what_is_out_is_refused_as_it_is_said(row: Row) -> None:
    with pytest.raises(PtxError) as refused:
        steps_of(Kernel(parse(PTX.format(example=row.example)), "k"))
    assert refused.value.what == row.says


def test_every_opcode_of_the_table_is_listed_once(command: Command) -> None:
    said = [row for row in command("features", "--json").json["features"] if row["group"].startswith("PTX")]
    opcodes = [row["feature"] for row in said if row["executed"] and "%" not in row["feature"]]
    assert len(opcodes) == len(set(opcodes))
    assert {*TABLE, "bar", "barrier", "bra", "brx", "call", "exit", "ret", "trap"} - {*opcodes} == {
        "alloca",
        "malloc",
        "free",
    }


def test_readings_of_a_clock_are_as_far_apart_as_it_is_said(command: Command) -> None:
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
