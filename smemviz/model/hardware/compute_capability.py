"""The compute capabilities: banks, phases and shared-memory limits, and what each number rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from smemviz.errors import InputError
from smemviz.i18n import N_
from smemviz.messages import said

KIB = 1024


BasisKind = Literal["measured", "documented", "assumed"]
BASES: tuple[BasisKind, ...] = ("measured", "documented", "assumed")  # the strongest first


@dataclass(frozen=True)
class Basis:
    """What a rule rests on: counted on hardware, stated by documentation, or carried over from where it is known.

    ``source`` is one sentence.
    """

    kind: BasisKind
    source: str


@dataclass(frozen=True)
class ComputeCapability:
    """One row of the table.

    ``bank_bytes`` are the bank widths the part can be set to, its default first. ``phases`` maps bytes per lane
    to the lanes that are served together; ``merges_wide_loads`` says whether 8 and 16 byte loads can double
    them, ``splits_wide`` whether each 4 bytes of a wide access are a request of their own. ``more_ways`` maps bytes
    per lane to the wavefronts that a phase takes more than its fullest bank has words. Shared memory is bytes
    per block: what an array may take without asking, what it may take after opting in, and what every block
    loses to the system. ``basis`` holds for the banks and for lanes of up to 4 bytes, ``wide`` maps more bytes
    per lane to what their phases rest on; the limits are always documented.
    """

    cc: tuple[int, int]
    family: str
    basis: Basis
    wide: Mapping[int, Basis]
    phases: Mapping[int, int]
    banks: int = 32
    bank_bytes: tuple[int, ...] = (4,)
    merges_wide_loads: bool = False
    splits_wide: bool = False
    more_ways: Mapping[int, int] = field(default_factory=dict)
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


def _wide(eight: Basis, sixteen: Basis) -> Mapping[int, Basis]:
    return MappingProxyType({8: eight, 16: sixteen})


_MEASURED = Basis("measured", N_("Counted by Nsight Compute on an H200."))
_SINCE_MAXWELL = Basis("documented", N_("CUDA C++ programming guide: 32 banks of 4 bytes."))
AS_MEASURED = Basis(
    "assumed", N_("As measured on compute capability 9.0; the CUDA C++ programming guide does not say.")
)
_KEPLER = Basis(
    "documented",
    N_("CUDA C programming guide, 3.x: both bank modes; 64 bits per bank and clock give the phases."),
)
_KEPLER_16 = Basis(
    "assumed", N_("64 bits per bank and clock serve a half-warp at a time; the CUDA C programming guide does not say.")
)
_FERMI = Basis("documented", N_("CUDA C programming guide, 2.x: 32 banks of 4 bytes; 8-byte accesses by half-warp."))
_FERMI_16 = Basis(
    "assumed",
    N_(
        "CUDA C programming guide, 2.x: a 16-byte access has one way more than its quarter-warp; that every"
        " quarter-warp takes as many wavefronts is assumed."
    ),
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
        _wide(_TESLA, _TESLA),
        _phases(16, 16, 16),
        banks=16,
        splits_wide=True,
        static_shared=16 * KIB,
        opt_in_shared=16 * KIB,
        max_threads=512,
    )


def _kepler(minor: int) -> ComputeCapability:
    wide = _wide(_KEPLER, _KEPLER_16)
    return ComputeCapability((3, minor), "Kepler", _KEPLER, wide, _phases(32, 32, 16), bank_bytes=(4, 8))


def _fermi(minor: int) -> ComputeCapability:
    more = MappingProxyType({16: 1})
    return ComputeCapability((2, minor), "Fermi", _FERMI, _wide(_FERMI, _FERMI_16), _phases(32, 16, 8), more_ways=more)


def _modern(cc: tuple[int, int], family: str, opt_in_kib: int = 48) -> ComputeCapability:
    return ComputeCapability(
        cc,
        family,
        _MEASURED if cc == (9, 0) else _SINCE_MAXWELL,
        _wide(_MEASURED, _MEASURED) if cc == (9, 0) else _wide(AS_MEASURED, AS_MEASURED),
        _phases(32, 16, 8),
        merges_wide_loads=True,
        opt_in_shared=opt_in_kib * KIB,
        reserved_shared=KIB if cc >= (8, 0) else 0,
    )


# Limits: CUDA C++ programming guide, technical specifications per compute capability.
_ROWS = (
    *(_tesla(minor) for minor in (0, 1, 2, 3)),
    *(_fermi(minor) for minor in (0, 1)),
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
