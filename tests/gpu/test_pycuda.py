"""PyCUDA's kernels on a real GPU where it is not installed: recorded as in lockstep, and run."""

from importlib.util import find_spec

import pytest
from helpers.library_scripts import PYCUDA_TURN

import smemviz

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _needs_no_pycuda():
    if find_spec("pycuda") is not None:
        pytest.skip("PyCUDA is installed")


def test_kernels_are_recorded_and_run(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(PYCUDA_TURN)
    ours, theirs = (smemviz.run(path, engine=engine) for engine in ("gpu", "lockstep"))
    assert ours.findings == theirs.findings == ()
    assert [one.kernel for one in ours.launches] == ["turn"] * 3
    for one, other in zip(ours.launches, theirs.launches, strict=True):
        assert one.sites == other.sites
        assert one.summary() == other.summary()


def test_launches_that_are_not_to_be_recorded_are_made(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(PYCUDA_TURN)
    (launch,) = smemviz.run(path, engine="gpu", launch=1).launches
    assert launch.kernel == "turn"
