"""Recordings of the square kernels written down by hand: what the figures are tested on, without any engine."""

import ast
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from smemviz.recordings.data import ArrayInfo, Launch, Requests, Site
from smemviz.recordings.measured import Device
from smemviz.recordings.recording import Recording

SQUARE = Path(__file__).parents[2] / "kernels" / "square.py"
SHARED, OUT = 1024, 1 << 32  # where the H200 puts static shared memory; any global address

Index = Callable[[np.ndarray, np.ndarray], np.ndarray]


def requests(rows: list[tuple[int, int, int, int]], addresses: list[np.ndarray], values: list[np.ndarray]) -> Requests:
    """Build a log from (site, warp, step, epoch) rows of one block."""
    site, warp, step, epoch = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    return Requests(
        np.array(addresses, np.int64),
        site,
        np.zeros(len(rows), np.int64),
        warp,
        step,
        epoch,
        np.array(values, np.float64),
    )


def square_launch(kernel: str, shape: tuple[int, ...], store: Index, load: Index, bdim: int = 32) -> Launch:
    """Write the requests of one square kernel: a shared store, a barrier, a shared load, a global store."""
    source = SQUARE.read_text()
    function = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == kernel)
    accesses = [n for n in ast.walk(function) if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)]
    put = next(n for n in accesses if n.value.id == "tile" and isinstance(n.ctx, ast.Store))
    get = next(n for n in accesses if n.value.id == "tile" and isinstance(n.ctx, ast.Load))
    out = next(n for n in accesses if n.value.id == "out")

    def site(node: ast.Subscript, array: str, space: str, op: str) -> Site:
        place = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        return Site(*place, ast.unparse(node), array, space, op, 4, "int32", kernel)  # type: ignore[arg-type]

    rows, addresses, values = [], [], []
    off = np.full(32, np.nan)
    for warp in range(-(-bdim * bdim // 32)):
        thread = warp * 32 + np.arange(32)
        on = thread < bdim * bdim
        tx, ty = thread % bdim, thread // bdim
        rows += [(0, warp, 0, 0), (1, warp, 1, 1), (2, warp, 2, 1)]
        addresses += [
            np.where(on, a, -1) for a in (SHARED + 4 * store(tx, ty), SHARED + 4 * load(tx, ty), OUT + 4 * thread)
        ]
        values += [np.where(on, thread, np.nan), off, off]
    strides = tuple(int(4 * np.prod(shape[i + 1 :])) for i in range(len(shape)))
    size = int(4 * np.prod(shape))
    return Launch(
        kernel,
        function.lineno,
        (1, 1, 1),
        (bdim, bdim, 1),
        0,
        size,
        (
            site(put, "tile", "shared", "store"),
            site(get, "tile", "shared", "load"),
            site(out, "out", "global", "store"),
        ),
        (
            ArrayInfo("tile", "shared", shape, strides, "int32", SHARED, function.lineno + 2),
            ArrayInfo("out", "global", (bdim * bdim,), (4,), "int32", OUT, function.lineno),
        ),
        requests(rows, addresses, values),
    )


def square_recording(bdim: int = 32, ipad: int = 1) -> Recording:
    """The six square kernels as an H200 would have recorded them."""
    pitch = bdim + ipad
    launches = (
        square_launch("set_row_read_row", (bdim, bdim), lambda x, y: y * bdim + x, lambda x, y: y * bdim + x, bdim),
        square_launch("set_col_read_col", (bdim, bdim), lambda x, y: x * bdim + y, lambda x, y: x * bdim + y, bdim),
        square_launch("set_row_read_col", (bdim, bdim), lambda x, y: y * bdim + x, lambda x, y: x * bdim + y, bdim),
        square_launch(
            "set_row_read_col_dyn", (bdim * bdim,), lambda x, y: y * bdim + x, lambda x, y: x * bdim + y, bdim
        ),
        square_launch(
            "set_row_read_col_pad", (bdim, pitch), lambda x, y: y * pitch + x, lambda x, y: x * pitch + y, bdim
        ),
        square_launch(
            "set_row_read_col_dyn_pad", (bdim * pitch,), lambda x, y: y * pitch + x, lambda x, y: x * pitch + y, bdim
        ),
    )
    source = SQUARE.read_text()
    return Recording(
        "kernels/square.py",
        source,
        hashlib.sha256(source.encode()).hexdigest(),
        {"BDIMX": bdim, "BDIMY": bdim, "IPAD": ipad, "PITCH": pitch},
        "gpu",
        Device("NVIDIA H200", (9, 0), "580.159", "13.0"),
        "2025-11-21T02:00:00+00:00",
        "0.1.0",
        launches,
    )
