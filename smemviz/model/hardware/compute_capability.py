"""The one table of compute capabilities: banks, phases and limits, what each number rests on, how many blocks fit."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from smemviz.errors import InputError
from smemviz.i18n import N_
from smemviz.messages import english

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
class Multiprocessor:
    """What the blocks on one multiprocessor share.

    ``granularity`` is the bytes that shared memory is handed out in.
    """

    shared_bytes: int
    blocks: int
    threads: int
    granularity: int


@dataclass(frozen=True)
class ComputeCapability:
    """One row of the table.

    ``bank_bytes`` are the bank widths the GPU can be set to, its default first. ``phases`` maps bytes per lane
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
    multiprocessor: Multiprocessor
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
        if not isinstance(cc, tuple):
            what = english("a compute capability is two numbers, such as (9, 0); {asked} is not", asked=repr(cc))
            raise InputError(what) from None
        names = ", ".join(row.name for row in _TABLE.values())
        asked = ".".join(map(str, cc))
        raise InputError(
            english("compute capability {asked} is not in the table; it has: {names}", asked=asked, names=names)
        ) from None


def known() -> tuple[ComputeCapability, ...]:
    """Return every row, oldest first."""
    return tuple(_TABLE.values())


def _phases(four: int, eight: int, sixteen: int) -> Mapping[int, int]:
    return MappingProxyType({1: four, 2: four, 4: four, 8: eight, 16: sixteen})


def _wide(eight: Basis, sixteen: Basis) -> Mapping[int, Basis]:
    return MappingProxyType({8: eight, 16: sixteen})


_MEASURED = Basis("measured", N_("Counted by Nsight Compute on an H200; an H100 counts the same."))
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


def _multiprocessor(kib: int, blocks: int, threads: int, granularity: int) -> Multiprocessor:
    return Multiprocessor(kib * KIB, blocks, threads, granularity)


def _tesla(minor: int, threads: int) -> ComputeCapability:
    return ComputeCapability(
        (1, minor),
        "Tesla",
        _TESLA,
        _wide(_TESLA, _TESLA),
        _phases(16, 16, 16),
        _multiprocessor(16, 8, threads, 512),
        banks=16,
        splits_wide=True,
        static_shared=16 * KIB,
        opt_in_shared=16 * KIB,
        max_threads=512,
    )


def _kepler(minor: int, kib: int = 48) -> ComputeCapability:
    wide, shared = _wide(_KEPLER, _KEPLER_16), _multiprocessor(kib, 16, 2048, 256)
    return ComputeCapability((3, minor), "Kepler", _KEPLER, wide, _phases(32, 32, 16), shared, bank_bytes=(4, 8))


def _fermi(minor: int) -> ComputeCapability:
    wide, shared, more = _wide(_FERMI, _FERMI_16), _multiprocessor(48, 8, 1536, 128), MappingProxyType({16: 1})
    return ComputeCapability((2, minor), "Fermi", _FERMI, wide, _phases(32, 16, 8), shared, more_ways=more)


def _modern(
    cc: tuple[int, int], family: str, kib: int, blocks: int = 32, threads: int = 2048, opt_in_kib: int = 48
) -> ComputeCapability:
    since_ampere = cc >= (8, 0)
    return ComputeCapability(
        cc,
        family,
        _MEASURED if cc == (9, 0) else _SINCE_MAXWELL,
        _wide(_MEASURED, _MEASURED) if cc == (9, 0) else _wide(AS_MEASURED, AS_MEASURED),
        _phases(32, 16, 8),
        _multiprocessor(kib, blocks, threads, 128 if since_ampere else 256),
        merges_wide_loads=True,
        opt_in_shared=opt_in_kib * KIB,
        reserved_shared=KIB if since_ampere else 0,
    )


# Limits, and KiB of shared memory, blocks and threads of a multiprocessor: CUDA C++ programming guide, technical
# specifications per compute capability. Granularity: cuda_occupancy.h, before 3.0 the occupancy calculator of CUDA 7.
_ROWS = (
    *(_tesla(minor, 768) for minor in (0, 1)),
    *(_tesla(minor, 1024) for minor in (2, 3)),
    *(_fermi(minor) for minor in (0, 1)),
    *(_kepler(minor) for minor in (0, 2, 5)),
    _kepler(7, 112),
    _modern((5, 0), "Maxwell", 64),
    _modern((5, 2), "Maxwell", 96),
    _modern((5, 3), "Maxwell", 64),
    _modern((6, 0), "Pascal", 64),
    _modern((6, 1), "Pascal", 96),
    _modern((6, 2), "Pascal", 64),
    _modern((7, 0), "Volta", 96, opt_in_kib=96),
    _modern((7, 2), "Volta", 96, opt_in_kib=96),
    _modern((7, 5), "Turing", 64, 16, 1024, opt_in_kib=64),
    _modern((8, 0), "Ampere", 164, opt_in_kib=163),
    _modern((8, 6), "Ampere", 100, 16, 1536, opt_in_kib=99),
    _modern((8, 7), "Ampere", 164, 16, 1536, opt_in_kib=163),
    _modern((8, 9), "Ada", 100, 24, 1536, opt_in_kib=99),
    _modern((9, 0), "Hopper", 228, opt_in_kib=227),
    _modern((10, 0), "Blackwell", 228, opt_in_kib=227),
    _modern((10, 1), "Blackwell", 228, 24, 1536, opt_in_kib=227),
    _modern((10, 3), "Blackwell", 228, opt_in_kib=227),
    _modern((11, 0), "Blackwell", 228, 24, 1536, opt_in_kib=227),
    *(_modern((12, minor), "Blackwell", 100, 24, 1536, opt_in_kib=99) for minor in (0, 1)),
)
_TABLE = {row.cc: row for row in _ROWS}


def blocks_per_multiprocessor(shared_bytes: int, cc: tuple[int, int], threads: int | None = None) -> int:
    """Return how many blocks of so many bytes of shared memory fit; registers may allow fewer.

    0 when not even one does. ``threads`` of a block count too where they are known; without them, and without shared
    memory, it is the most blocks that a multiprocessor takes.

    Raises:
        InputError: for a negative size, threads that no block has, a compute capability that is not in the table.
    """
    limits = device(cc)
    shared = limits.multiprocessor
    if shared_bytes < 0:
        raise InputError(f"a block cannot have {shared_bytes} bytes of shared memory")
    if threads is not None and not 1 <= threads <= limits.max_threads:
        raise InputError(f"a block has 1 to {limits.max_threads} threads, not {threads}")
    if shared_bytes > limits.opt_in_shared:
        return 0
    block_bytes = -(-(shared_bytes + limits.reserved_shared) // shared.granularity) * shared.granularity
    most = [shared.blocks] + [shared.shared_bytes // block_bytes] * (block_bytes > 0)
    if threads is not None:
        whole_warps = -(-threads // limits.warp_size) * limits.warp_size
        most.append(shared.threads // whole_warps)
    return min(most)
