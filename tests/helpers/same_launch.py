"""Whether two launches were recorded alike, to the last bit."""

from __future__ import annotations

from dataclasses import fields

from smemviz.recordings.data import Launch, Requests, Totals


def recorded(launch: Launch) -> list[object]:
    """Return all that was recorded of the requests of a launch, as bytes."""
    found: list[object] = []
    for kind, lot in ((Requests, launch.requests), (Totals, launch.totals)):
        found += [lot and (one.name, getattr(lot, one.name).tobytes()) for one in fields(kind)]
    return found


def counted(launch: Launch) -> list[object]:
    """Return the totals of a launch of which only some requests were kept, else all that was recorded, as bytes."""
    if launch.totals is None:
        return recorded(launch)
    return [(one.name, getattr(launch.totals, one.name).tobytes()) for one in fields(Totals)]
