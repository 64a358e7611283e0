"""What main() may allocate in lockstep: some gigabytes, then one clear line."""

import sys
import threading

import numpy as np
import pytest
from helpers.lockstep_text import FILE, START, run_text

import smemviz
from smemviz.engines.lockstep.host import host_memory
from smemviz.engines.lockstep.host.host_memory import HOST_BYTES, bounded
from smemviz.errors import KernelFileError

resource = pytest.importorskip("resource", reason="only Linux keeps such a limit")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps such a limit")

SOURCE = """
@cuda.jit
def kernel(out):
    out[cuda.threadIdx.x] = 1
def main():
    ARRAY
    kernel[1, 32](np.zeros(32, np.int64))
"""


def test_an_array_that_is_too_large_is_one_line_that_names_its_place():
    """16 GiB of zeros: the system would promise them and give them only when they are used."""
    for array in ["np.zeros(1 << 34, np.uint8)", "cuda.device_array(1 << 34, np.uint8)"]:
        with pytest.raises(KernelFileError) as error:
            run_text(SOURCE.replace("ARRAY", f"large = {array}"))

        line = START + 4
        assert str(error.value).startswith(f"{FILE}:{line}: there is not enough memory (Unable to allocate 16.0 GiB ")
        assert str(error.value).endswith("); make the arrays smaller")


def test_an_array_of_a_script_that_is_too_large_is_one_line_at_once(tmp_path):
    for module in ["numpy", "cupy"]:
        path = tmp_path / "script.py"
        path.write_text(f"import {module}\n{module}.zeros(1 << 34, {module}.uint8)\n")
        with pytest.raises(
            KernelFileError, match=r"script\.py:2: there is not enough memory \(Unable to allocate 16\.0 GiB "
        ):
            smemviz.run(path, engine="lockstep")


def test_where_less_memory_is_free_that_is_the_bound(monkeypatch):
    free = 1 << 30
    real = host_memory._bytes
    monkeypatch.setattr(host_memory, "_bytes", lambda path, name: free if name == "MemAvailable" else real(path, name))
    with bounded(), pytest.raises(MemoryError):
        np.zeros(2 * free, np.uint8)


def test_a_gigabyte_is_fine():
    launches, findings = run_text(SOURCE.replace("ARRAY", "large = np.zeros(1 << 30, np.uint8)"))
    assert (len(launches), findings) == (1, ())


def test_the_limit_is_gone_afterwards():
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with bounded():
        assert resource.getrlimit(resource.RLIMIT_DATA)[0] != before[0]
        with pytest.raises(MemoryError):
            np.zeros(2 * HOST_BYTES, np.uint8)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_two_threads_at_once_leave_no_limit_behind():
    before = resource.getrlimit(resource.RLIMIT_DATA)
    entered, leave = threading.Event(), threading.Event()

    def other():
        with bounded():
            entered.set()
            leave.wait(60)

    with bounded():
        thread = threading.Thread(target=other)
        thread.start()
        assert entered.wait(60)
    assert resource.getrlimit(resource.RLIMIT_DATA) != before
    leave.set()
    thread.join()
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
