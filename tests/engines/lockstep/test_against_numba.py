"""Constructs give in lockstep what the PTX gives that Numba compiles them to, run without a GPU."""

import contextlib
import io

import numpy as np
import pytest
from helpers.constructs import arguments, constructs
from helpers.interpreted_ptx import compiles, ptx_of, run_ptx  # noqa: F401 - which the mark asks
from helpers.lockstep_text import launch_text

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif("not compiles()", reason="needs numba-cuda and NVVM, which compile for a GPU without one"),
]
# What the PTX calls that another file has: of NumPy's shapes, of half precision, of the Unicode tables.
_ELSEWHERE = "has no body here"


def compiled(one):
    try:
        return ptx_of(one.source, arguments())
    except Exception:  # Numba's are of many kinds
        return None


def test_what_numba_compiles_is_as_noted_and_gives_the_same():
    for first in range(0, len(constructs()), 20):
        wrong = {}
        for one in constructs()[first : first + 20]:
            ptx = compiled(one)
            if (ptx is not None) != one.numba:
                wrong[one.name] = f"Numba compiles it: {ptx is not None}"
            if ptx is None or one.says:
                continue
            on_gpu, here = arguments(), arguments()
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    run_ptx(ptx, on_gpu)
            except Exception as error:
                if _ELSEWHERE not in str(error):
                    wrong[one.name] = str(error)
                continue
            with contextlib.redirect_stdout(io.StringIO()):
                launch_text(one.text, *here, block=8)
            if not all(
                np.allclose(a, b, rtol=1e-6, atol=1e-7, equal_nan=True) for a, b in zip(on_gpu, here, strict=True)
            ):
                wrong[one.name] = f"{on_gpu[2]} is {here[2]} in lockstep"
        assert wrong == {}
