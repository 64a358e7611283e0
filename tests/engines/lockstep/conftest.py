"""What Numba's own typing says, where numba-cuda is installed; and which tests of several ways every change passes."""

import warnings
from zlib import crc32

import pytest
from helpers.alone_both_ways import WAYS, run_few

from smemviz.engines.lockstep.python import loops


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave to the whole check what runs in several ways, but in one of them, which is another for each test."""
    for item in items:
        parts = item.callspec.id.split("-") if hasattr(item, "callspec") else []
        way = next((part for part in parts if part in WAYS), None)
        if way is not None:
            rest = "-".join([item.location[2].partition("[")[0], *(part for part in parts if part != way)])
            if crc32(rest.encode()) % len(WAYS) != WAYS.index(way):
                item.add_marker(pytest.mark.exhaustive)


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """A way in which several threads run a loop."""
    run_few(monkeypatch, request.param)
    return request.param


@pytest.fixture(scope="module", autouse=True)
def _loops_are_never_too_short():
    """Let loops of few turns be made into something else too, which is what most tests here are about."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "_FEW_STEPS", -1)
        yield


@pytest.fixture(scope="session")
def context():
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from numba.cuda.descriptor import cuda_target

        cuda_target.typing_context.refresh()
    return cuda_target.typing_context
