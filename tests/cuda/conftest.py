import importlib.util
from collections.abc import Iterator

import pytest

from smemviz.frontends.cuda import nvrtc


@pytest.fixture(autouse=True)
def _needs_nvrtc() -> None:
    if not nvrtc.available():
        pytest.skip("needs NVRTC, the extra 'cpp'")


@pytest.fixture(autouse=True, scope="module")
def _without_a_gpu() -> Iterator[None]:
    """Run in lockstep where there is a GPU too: mistakes made on purpose would leave it unusable for other tests.

    What the GPU makes of CUDA C++ is in ``tests/gpu``.
    """
    with pytest.MonkeyPatch.context() as patch:
        if importlib.util.find_spec("numba_cuda"):
            from smemviz.engines.gpu import python_on_gpu

            for question in ("available", "is_there"):
                patch.setattr(python_on_gpu, question, lambda: False)
        yield
