"""What the model costs before it counts anything, and where it cannot keep its machine code."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COUNT = "import smemviz; print(int(smemviz.wavefronts([128 * lane for lane in range(32)], 4)))"


def test_numba_is_imported_only_where_much_is_counted():
    program = f"import sys; {COUNT}; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_without_a_driver_cuda_is_not_imported():
    asked = "backend.has_driver() or backend.chosen('auto') == 'lockstep' and 'numba.cuda' not in sys.modules"
    program = f"import sys; from smemviz.engines import backend; assert {asked}"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="Numba's cache is found through XDG_CACHE_HOME on Linux only")
def test_counting_works_where_no_cache_can_be_written(tmp_path):
    shutil.copytree(ROOT / "smemviz", tmp_path / "smemviz", ignore=shutil.ignore_patterns("__pycache__"))
    # A file stops even root from making the directory.
    (tmp_path / "smemviz" / "model" / "counting" / "__pycache__").touch()
    environment = os.environ | {"XDG_CACHE_HOME": "/dev/null/cache", "HOME": "/dev/null/home", "NUMBA_CACHE_DIR": ""}

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", COUNT],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("32\n", "")


@pytest.mark.exhaustive
def test_compiled_loops_that_name_what_has_moved_are_compiled_again(tmp_path):
    (tmp_path / "home.py").write_text(
        "from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n    a: int\n    b: int\n"
    )
    (tmp_path / "moved.py").write_text((tmp_path / "home.py").read_text())
    (tmp_path / "loops.py").write_text(
        "from smemviz.model.counting.jit import compiled\n\n\n@compiled\ndef both(pair):\n    return pair.a + pair.b\n"
    )

    def run(home):
        code = f"from {home} import Pair; from loops import both; print(both(Pair(1, 2)))"
        ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
        assert (ran.stdout, ran.stderr) == ("3\n", "")

    run("home")
    (tmp_path / "home.py").unlink()
    run("moved")
