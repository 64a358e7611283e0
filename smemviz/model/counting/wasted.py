"""Bandwidth that the requests of a site leave unused."""

from __future__ import annotations

from smemviz.model.counting.cache import cached
from smemviz.model.counting.sectors import bytes_used
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.rules import shared_rule
from smemviz.recordings.data import SECTOR_BYTES, Launch


@cached
def bytes_wasted(launch: Launch, site: int, hardware: Hardware = H200) -> int | None:
    """Count the bytes that sectors moved, or that wavefronts could have moved, and that no lane asked for.

    Every byte of a request is asked for once. None where wavefronts do not follow from the addresses, and where part of
    the requests was not logged, so that it is not known what they asked for.
    """
    chosen, row = launch.sites[site], summarize(launch, hardware)[site]
    asked = launch.requests.addresses[launch.requests.site == site]
    if not row.complete or len(asked) < row.requests:
        return None
    if row.sectors is not None:
        return row.sectors * SECTOR_BYTES - int(bytes_used(asked, chosen.width).sum())
    if row.wavefronts is None:
        return None
    rule = shared_rule(chosen.width, chosen.op, hardware)
    asked = asked.copy()
    asked[:, rule.lanes :] = -1  # past the last matrix no lane asks
    return (row.wavefronts << rule.row_shift) - int(bytes_used(asked, chosen.width).sum())
