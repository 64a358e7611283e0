"""One request on one array, as plain data: what a browser draws with the pictures that play a recording."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.model.hardware.hardware import Hardware
from smemviz.model.playback import BankLayout, BankService, RequestView, bank_layout, bank_service
from smemviz.recordings.data import ArrayInfo
from smemviz.views.grid import Grid, around, declared, lanes_in
from smemviz.wording.labels import number

_MOST = (64, 64)  # rows and columns that are drawn


def shape_of(service: BankService, lanes: NDArray[np.int64], base: int, cost: str) -> dict[str, Any]:
    """Return how a request is served: per lane and word its place after ``base``, wavefront, whether in conflict."""
    columns = (service.lane, service.address - base, service.wavefront, service.conflict.astype(np.int64))
    return {
        "cost": cost,
        "lanes": lanes.tolist(),
        "wavefronts": service.wavefronts,
        "words": np.stack(columns, axis=1).tolist() if service.reason is None else [],
        "reason": service.reason,
    }


def drawn_request(now: RequestView, array: ArrayInfo, says: str, hardware: Hardware) -> dict[str, Any]:
    """Return the present request on an array that a kernel declares, with what that holds by then."""
    where = bank_layout(now.launch, hardware)
    service = bank_service(now, where, hardware)
    asks = now.site is not None and now.site.is_shared
    addresses = now.launch.requests.addresses[now.row] if asks else np.full(32, -1)
    return request_data(declared(now, array, where), addresses, says, where, service, name=array.name, stored=True)


def request_data(
    grid: Grid,
    addresses: NDArray[np.int64],
    says: str,
    where: BankLayout,
    service: BankService,
    *,
    name: str,
    stored: bool = False,
    words: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return a request of (32,) byte addresses and the cells around it, ready for JSON.

    What cells hold is ``stored`` by their threads, or else only written into them; ``words`` name the cells that hold
    nothing, ``faint``, and those that nobody goes to, ``unused``, where the usual words do not.
    """
    rows, columns = around(lanes_in(grid, service)[0] != "", _MOST)
    part = grid.window(rows, columns)
    on = addresses >= 0
    base = int(addresses[on].min()) if on.any() else 0
    return {
        "banks": where.banks,
        "width": where.width,
        "origin": where.origin,
        "says": says,
        "base": base,
        "site": {"shared": True, "array": name, "bytes": service.width},
        "shape": shape_of(service, np.where(on, addresses - base, -1), base, says),
        "array": cells_data(part, name, grid.size)
        | {
            "held": _lane_cells(part, stored=stored),
            "from": [rows.start, columns.start],
            "of": list(grid.address.shape),
            "words": dict(words or {}),
        },
    }


def cells_data(grid: Grid, name: str, itemsize: int) -> dict[str, Any]:
    """Return cells row by row, ready for JSON; ``address`` is -1 where there is none."""
    return {
        "name": name,
        "size": grid.size,
        "element": itemsize,
        "columns": grid.address.shape[1],
        "address": grid.address.ravel().tolist(),
        "names": grid.name.ravel().tolist(),
        "touched": grid.touched.ravel().astype(int).tolist(),
        "titles": [grid.x_title, grid.y_title],
        **({"step": grid.step} if grid.step != 1 else {}),
    }


def _lane_cells(grid: Grid, *, stored: bool) -> Sequence[list[str | int] | None]:
    """Return what each cell holds, with the thread that stored it, None for one that holds nothing."""
    cells = zip(grid.value.ravel().tolist(), grid.thread.ravel().tolist(), strict=True)
    return [[number(value), *[thread] * stored] if thread >= 0 else None for value, thread in cells]
