"""Small kernels made at random, each in CUDA C++ and in Python: the same requests and the same results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.random_kernels import cpp_file, python_file, random_kernel
from helpers.same_requests import relative_requests

import smemviz


@pytest.mark.parametrize("seed", range(12))
def test_a_random_kernel_is_the_same_in_both_languages(tmp_path: Path, seed: int) -> None:
    made = [random_kernel(seed)]
    (tmp_path / "k.cu").write_text(cpp_file(made))
    (tmp_path / "k.py").write_text(python_file(made))
    one, other = (smemviz.run(tmp_path / name, engine="lockstep").launches[0] for name in ("k.cu", "k.py"))
    assert relative_requests(one) == relative_requests(other)
    stored = [np.sort(launch.requests.values[~np.isnan(launch.requests.values)]) for launch in (one, other)]
    assert np.array_equal(*stored)
