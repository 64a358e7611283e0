"""What Numba's own typing says, where numba-cuda is installed."""

import warnings

import pytest


@pytest.fixture(scope="session")
def context():
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from numba.cuda.descriptor import cuda_target

        cuda_target.typing_context.refresh()
    return cuda_target.typing_context
