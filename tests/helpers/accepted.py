"""Scripts around the body of one kernel, as Numba compiles it for CUDA."""

import textwrap
from pathlib import Path

import numpy as np

import smemviz
from smemviz.recordings.recording import Recording

HEAD = """
import math
import numba
import numpy as np
from numba import cuda, float32
"""

END = """
out = np.zeros(32)
kernel[1, 32](out)
np.save(RESULT, out)
"""


def script(folder: Path, text: str) -> Recording:
    """Run a script in lockstep."""
    path = folder / "script.py"
    path.write_text(text)
    return smemviz.run(path, engine="lockstep")


def kernel(folder: Path, body: str, before: str = "", decorator: str = "@cuda.jit") -> np.ndarray:
    """Run a script with one kernel of one array of 32 float64, which it returns."""
    result = folder / "result.npy"
    body = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    end = END.replace("RESULT", repr(str(result)))
    recording = script(folder, f"{HEAD}{before}\n{decorator}\ndef kernel(out):\n{body}\n{end}")
    assert [launch.kernel for launch in recording.launches] == ["kernel"]
    assert recording.findings == ()
    return np.load(result)


LANE = np.arange(32.0)
