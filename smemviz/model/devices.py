"""The compute capabilities: banks, phases and shared-memory limits, and what each number rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from smemviz.errors import InputError
from smemviz.language import N_
from smemviz.said import said

KIB = 1024


@dataclass(frozen=True)
class Basis:
    """What a rule rests on: counted on hardware, or taken from documentation; ``source`` is one sentence."""

    kind: Literal["measured", "documented"]
    source: str


@dataclass(frozen=True)
class ComputeCapability:
    """One row of the table.

    ``bank_bytes`` are the bank widths the part can be set to, its default first. ``phases`` maps bytes per lane
    to the lanes that are served together; ``merges_wide_loads`` says whether 8 and 16 byte loads can double
    them, ``splits_wide`` whether each 4 bytes of a wide access are a request of their own. Shared memory is bytes
    per block: what an array may take without asking, what it may take after opting in, and what every block
    loses to the system. ``basis`` holds for the banks and phases; the limits are always documented.
    """

    cc: tuple[int, int]
    family: str
    basis: Basis
    phases: Mapping[int, int]
    banks: int = 32
    bank_bytes: tuple[int, ...] = (4,)
    merges_wide_loads: bool = False
    splits_wide: bool = False
    static_shared: int = 48 * KIB
    opt_in_shared: int = 48 * KIB
    reserved_shared: int = 0
    max_threads: int = 1024
    warp_size: int = 32

    @property
    def name(self) -> str:
        """The compute capability as it is written: ``9.0``."""
        return f"{self.cc[0]}.{self.cc[1]}"


def device(cc: tuple[int, int]) -> ComputeCapability:
    """Look up a compute capability.

    Raises:
        InputError: when the table has no such row.
    """
    try:
        return _TABLE[cc]
    except (KeyError, TypeError):
        names = ", ".join(row.name for row in _TABLE.values())
        asked = ".".join(map(str, cc)) if isinstance(cc, tuple) else repr(cc)
        raise InputError(
            said("compute capability {asked} is not in the table; it has: {names}", asked=asked, names=names)
        ) from None


def known() -> tuple[ComputeCapability, ...]:
    """Return every row, oldest first."""
    return tuple(_TABLE.values())


def _phases(four: int, eight: int, sixteen: int) -> Mapping[int, int]:
    return MappingProxyType({1: four, 2: four, 4: four, 8: eight, 16: sixteen})


_MEASURED = Basis("measured", N_("Counted by Nsight Compute on an H200."))
_SINCE_MAXWELL = Basis(
    "documented",
    N_("CUDA C++ programming guide: 32 banks of 4 bytes; wide accesses as measured on compute capability 9.0."),
)
_KEPLER = Basis(
    "documented",
    N_("CUDA C programming guide, 3.x: both bank modes; 64 bits per bank and clock give the phases."),
)
_FERMI = Basis(
    "documented",
    N_("CUDA C programming guide, 2.x: 8-byte accesses by half-warp, 16-byte accesses by quarter-warp."),
)
_TESLA = Basis(
    "documented",
    N_(
        "CUDA C programming guide, 1.x: half-warps, wide accesses split into 4 bytes. A best case: the guide lets"
        " only one word per step be shared between lanes and leaves open which."
    ),
)


def _tesla(minor: int) -> ComputeCapability:
    return ComputeCapability(
        (1, minor),
        "Tesla",
        _TESLA,
        _phases(16, 16, 16),
        banks=16,
        splits_wide=True,
        static_shared=16 * KIB,
        opt_in_shared=16 * KIB,
        max_threads=512,
    )


def _kepler(minor: int) -> ComputeCapability:
    return ComputeCapability((3, minor), "Kepler", _KEPLER, _phases(32, 32, 16), bank_bytes=(4, 8))


def _modern(cc: tuple[int, int], family: str, opt_in_kib: int = 48) -> ComputeCapability:
    return ComputeCapability(
        cc,
        family,
        _MEASURED if cc == (9, 0) else _SINCE_MAXWELL,
        _phases(32, 16, 8),
        merges_wide_loads=True,
        opt_in_shared=opt_in_kib * KIB,
        reserved_shared=KIB if cc >= (8, 0) else 0,
    )


# Limits: CUDA C++ programming guide, technical specifications per compute capability.
_ROWS = (
    *(_tesla(minor) for minor in (0, 1, 2, 3)),
    *(ComputeCapability((2, minor), "Fermi", _FERMI, _phases(32, 16, 8)) for minor in (0, 1)),
    *(_kepler(minor) for minor in (0, 2, 5, 7)),
    *(_modern((5, minor), "Maxwell") for minor in (0, 2, 3)),
    *(_modern((6, minor), "Pascal") for minor in (0, 1, 2)),
    _modern((7, 0), "Volta", 96),
    _modern((7, 2), "Volta", 96),
    _modern((7, 5), "Turing", 64),
    _modern((8, 0), "Ampere", 163),
    _modern((8, 6), "Ampere", 99),
    _modern((8, 7), "Ampere", 163),
    _modern((8, 9), "Ada", 99),
    _modern((9, 0), "Hopper", 227),
    *(_modern((10, minor), "Blackwell", 227) for minor in (0, 1, 3)),
    _modern((11, 0), "Blackwell", 227),
    *(_modern((12, minor), "Blackwell", 99) for minor in (0, 1)),
)
_TABLE = {row.cc: row for row in _ROWS}
