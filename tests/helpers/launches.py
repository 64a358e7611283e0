"""Small launches written down by hand."""

import numpy as np

from smemviz.recordings.data import ArrayInfo, Launch, Requests, Site, Space, Totals


def site(array: str, space: Space, op: str, width: int = 4, dtype: str = "int32") -> Site:
    return Site(1, 0, 1, 9, f"{array}[i]", array, space, op, width, dtype, "kernel")


def array(name: str, space: Space, shape: tuple[int, ...], address: int, strides: tuple[int, ...] = (4,)) -> ArrayInfo:
    return ArrayInfo(name, space, shape, strides, "int32", address, 1)


def launch(
    sites: tuple[Site, ...],
    rows: list[tuple[int, np.ndarray]],
    arrays: tuple[ArrayInfo, ...] = (),
    totals: Totals | None = None,
) -> Launch:
    """Make a launch of one block whose requests are (site, addresses)."""
    n = len(rows)
    requests = Requests(
        np.array([addresses for _, addresses in rows], np.int64).reshape(n, 32),
        np.array([s for s, _ in rows], np.int32),
        np.zeros(n, np.int64),
        np.zeros(n, np.int32),
        np.arange(n, dtype=np.int32),
        np.zeros(n, np.int32),
        np.full((n, 32), np.nan),
    )
    return Launch("kernel", 1, (1, 1, 1), (32, 1, 1), 0, 0, sites, arrays, requests, totals)
