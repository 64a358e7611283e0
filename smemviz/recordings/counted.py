"""The counts of a site, as attributes of it: what the launch that it is of made it cost."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, TypeVar

from smemviz.errors import InputError

_S = TypeVar("_S", bound="Counted")
_T = TypeVar("_T")


class Counted:
    """Counts over the whole grid, as compute capability 9.0 serves it; ``Launch.summary`` counts for others.

    They are None where there is nothing to count: sectors of a site in shared memory, wavefronts of one in global.
    Only a site that is read from ``launch.sites`` has them; one made by hand raises ``InputError``.
    """

    _place: tuple[Any, int] | None = None  # a copy of the launch, and the number of the site in it

    @property
    def requests(self) -> int:
        """How many times a warp executed it."""
        return self._count("requests") or 0

    @property
    def wavefronts(self) -> int | None:
        """Passes through shared memory that the requests took."""
        return self._count("wavefronts")

    @property
    def ideal(self) -> int | None:
        """The wavefronts that the same requests would take without a bank conflict."""
        return self._count("ideal")

    @property
    def excess(self) -> int | None:
        """Wavefronts beyond the ideal: the bank conflicts."""
        return self._count("excess")

    @property
    def max_degree(self) -> int | None:
        """The most words that one bank had to deliver to lanes served together; 1 is no conflict."""
        return self._count("max_degree")

    @property
    def sectors(self) -> int | None:
        """Sectors of 32 bytes of global memory that the requests touched."""
        return self._count("sectors")

    @property
    def sectors_per_request(self) -> float | None:
        """Sectors divided by requests; 4 bytes a lane side by side need 4."""
        return self._share("sectors_per_request")

    @property
    def bytes_used(self) -> int | None:
        """Bytes of global memory that lanes asked for, each counted once per request."""
        return self._count("bytes_used")

    @property
    def efficiency(self) -> float | None:
        """Bytes that lanes asked for divided by the bytes of the sectors that moved, 0 to 1."""
        return self._share("efficiency")

    @property
    def bytes_wasted(self) -> int | None:
        """Bytes that wavefronts, or sectors, could have moved and no lane asked for."""
        return self._count("bytes_wasted")

    def _count(self, name: str) -> int | None:
        value: int | None = self._value(name)
        return value

    def _share(self, name: str) -> float | None:
        value: float | None = self._value(name)
        return value

    def _value(self, name: str) -> Any:
        if self._place is None:
            raise InputError(f"a site by itself has no {name}; read it from the sites of a launch")
        launch, number = self._place
        # Both stand above what they count.
        columns = importlib.import_module("smemviz.views.columns").COLUMNS
        counted_for = importlib.import_module("smemviz.model.hardware.hardware").H200
        return next(column for column in columns if column.name == name).of_site(launch, number, counted_for)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_place"}


def counted_in(launch: Any, sites: Sequence[_S]) -> tuple[_S, ...]:
    """Return the sites as those of a launch.

    What they are counted by is a copy of it, with sites that have no counts: with the launch itself a circle would keep
    its arrays in memory until the garbage collector comes by.
    """
    plain = tuple(site if site._place is None else _copied(site, _place=None) for site in sites)
    evidence = _copied(launch, sites=plain)
    return tuple(_copied(site, _place=(evidence, number)) for number, site in enumerate(sites))


def _copied(frozen: _T, **changes: object) -> _T:
    """Return a copy of an object; ``copy.copy`` takes several times as long, and there are many sites."""
    copied = object.__new__(type(frozen))
    object.__setattr__(copied, "__dict__", vars(frozen) | changes)
    return copied
