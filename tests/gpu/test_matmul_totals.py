"""Counting on the GPU gives the totals that a formula and lockstep give, for launches too large to log."""

import numpy as np
import pytest

from smemviz.paths import kernels_dir

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("n", [100, 320])
def test_the_transposed_tile_has_the_excess_that_others_published(n):
    """31 * 32 * floor(N/32)^2 * ceil(N/32) store wavefronts, for a grid of floor(N/32) x floor(N/32) blocks."""
    import smemviz

    file = kernels_dir() / "matmul.py"
    namespace = {"__name__": "matmul"}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), namespace)
    matrix = np.ones((n, n), np.float32)
    launches = [
        smemviz.record(
            namespace["tiled_transposed"],
            (n // 32, n // 32),
            (32, 32),
            (np.zeros_like(matrix), matrix, matrix),
            engine=engine,
        ).launches[0]
        for engine in ("gpu", "lockstep")
    ]

    on_gpu, in_lockstep = (launch.summary(cc=(9, 0)) for launch in launches)
    assert on_gpu == in_lockstep
    stores = [
        row.excess
        for site, row in zip(launches[0].sites, on_gpu, strict=True)
        if (site.space, site.op) == ("shared", "store")
    ]
    assert stores == [31 * 32 * (n // 32) ** 2 * -(-n // 32), 0]
