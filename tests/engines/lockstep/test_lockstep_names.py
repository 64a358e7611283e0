"""Names that are misspelt get the one that was meant."""

import pytest

import smemviz
from smemviz.errors import SmemvizError

FILE = """
import math
import numpy as np
from numba import cuda, int32

@cuda.jit
def kernel(out):
    thread = cuda.threadIdx.x
    {line}
    out[thread] = thread

def main():
    kernel[1, 32](cuda.{array}(32, np.int32))
"""


def test_a_misspelt_name_in_a_kernel_gets_its_neighbour(tmp_path):
    for line, said in [
        ("cuda.syncthread()", "cuda.syncthread(...) is not known; did you mean cuda.syncthreads?"),
        ("x = cuda.threadidx.x", "cuda.threadidx.x is not known; did you mean cuda.threadIdx.x?"),
        ("x = cuda.shared.arra(2, int32)", "cuda.shared.arra(...) is not known; did you mean cuda.shared.array?"),
        ("x = math.sqr(2)", "math.sqr(...) is not known; did you mean math.sqrt?"),
        ("x = thred", "the name thred is not known; did you mean thread?"),
        # One that is real is not taken for another, nor is one that is like none.
        ("x = math.isqrt(4)", "math.isqrt(...): Numba does not compile it for CUDA; write int(math.sqrt(x))"),
    ]:
        path = tmp_path / "mine.py"
        path.write_text(FILE.format(line=line, array="device_array"), encoding="utf-8")
        with pytest.raises(SmemvizError) as met:
            smemviz.run(path, engine="lockstep")
        assert str(met.value) == f"{path}:9: {said}"


def test_a_program_can_ask_what_numba_cuda_has(tmp_path):
    for name in ["device_aray", "nosuch", "_nosuch", "__nosuch__"]:
        path = tmp_path / "mine.py"
        asked = f"""
assert not hasattr(cuda, {name!r}) and getattr(cuda, {name!r}, 7) == 7
assert hasattr(cuda, "device_array")
try:
    from numba.cuda import {name}
except ImportError as error:
    assert isinstance(error, ImportError)
else:
    raise AssertionError
"""
        path.write_text(FILE.format(line="pass", array="device_array") + asked, encoding="utf-8")
        assert smemviz.run(path, engine="lockstep").launches


def test_a_name_that_numba_cuda_has_not_is_told_where_it_stands(tmp_path):
    path = tmp_path / "mine.py"
    aray = "cuda.device_aray is not known; did you mean cuda.device_array?"
    for array, line, at, said in [
        ("device_aray", "", 13, aray),
        ("device_array", "cuda.nosuch", 14, "cuda has no nosuch, in Numba either"),
        ("device_array", "from numba.cuda import nosuch", 14, "cuda has no nosuch, in Numba either"),
        ("device_array", "from numba.cuda import syncthread", 14,
            "cuda.syncthread is not known; did you mean cuda.syncthreads?"),
        ("device_array", "hasattr(cuda, 'set_memory_manager')", 14,
            "cuda.set_memory_manager is not known to the lockstep engine"),
    ]:  # fmt: skip
        path.write_text(FILE.format(line="pass", array=array) + f"{line}\n", encoding="utf-8")
        with pytest.raises(SmemvizError) as met:
            smemviz.run(path, engine="lockstep")
        assert str(met.value).startswith(f"{path}:{at}: {said}")
