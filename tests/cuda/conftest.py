from __future__ import annotations

import pytest

from smemviz.frontends.cuda import nvrtc


@pytest.fixture(autouse=True)
def _needs_nvrtc() -> None:
    if not nvrtc.available():
        pytest.skip("needs NVRTC, the extra 'cpp'")
