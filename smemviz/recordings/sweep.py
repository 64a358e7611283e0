"""Matrix products measured over sizes: frozen data, and the file it is kept in.

The file is JSON with a schema of its own, ``kernels/recordings/<gpu>/<file>.sweep.json`` for those that come with
smemviz. A point that was not measured says why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from smemviz.errors import InputError
from smemviz.recordings.archive import writing
from smemviz.recordings.checks import decode
from smemviz.recordings.data import SECTOR_BYTES
from smemviz.recordings.measured import Device

SCHEMA = 1
CUBLAS, NUMPY, LOOPS = "cuBLAS", "NumPy", "three loops"
OF_ANOTHER = "holds what was measured on another card, or of another version of the kernel file"
SIZE_CONSTANTS = ("M", "K", "N")

_MAX_BYTES = 1 << 24


@dataclass(frozen=True)
class Size:
    """The product of an ``m`` x ``k`` and a ``k`` x ``n`` matrix."""

    m: int
    k: int
    n: int

    @staticmethod
    def read(text: str, largest: int) -> Size | None:
        """Read what ``name`` writes, each number from 1 to ``largest``; None where it is something else."""
        numbers = text.split("x")
        if len(numbers) not in (1, 3) or not all(n.isdecimal() and 1 <= int(n[:9]) <= largest for n in numbers):
            return None
        m, k, n = (int(n) for n in (numbers * 3)[:3])
        return Size(m, k, n)

    @property
    def operations(self) -> int:
        """Multiplications and additions: 2 S^3 for a cube."""
        return 2 * self.m * self.k * self.n

    @property
    def elements(self) -> int:
        """The elements of the three matrices, each counted once."""
        return self.m * self.k + self.k * self.n + self.m * self.n

    @property
    def name(self) -> str:
        """How the size is written: ``1024``, or ``228x240x112`` for M, K and N."""
        return str(self.m) if self.m == self.k == self.n else f"{self.m}x{self.k}x{self.n}"

    def loads(self, across: int | None = None, down: int | None = None) -> int:
        """Return how many elements are loaded when the threads of a block share them, in a grid of blocks.

        Each element of a is loaded once per column of blocks (``across``), each of b once per row of them (``down``):
        2 S^3 / T for a cube by tiles of T x T. Without a grid every thread loads for itself: 2 S^3.
        """
        return self.m * self.k * (across or self.n) + self.k * self.n * (down or self.m)


@dataclass(frozen=True)
class Traffic:
    """What a launch moved. ``elements_loaded`` is None where only requests were counted, not their lanes.

    ``untold`` are requests to shared memory whose wavefronts cannot be told from their addresses; all the counts of
    shared memory leave them out.

    ``excess`` are the wavefronts of shared memory beyond the ideal, ``max_degree`` the worst conflict of any site.
    """

    load_requests: int
    load_sectors: int
    store_sectors: int
    shared_loads: int
    shared_stores: int
    excess: int
    max_degree: int
    elements_loaded: int | None = None
    untold: int = 0

    @property
    def shares(self) -> bool:
        """Whether threads share what they load, by way of shared memory."""
        return bool(self.shared_loads or self.untold)

    @property
    def global_bytes(self) -> int:
        """The bytes that sectors loaded and stored move."""
        return SECTOR_BYTES * (self.load_sectors + self.store_sectors)


@dataclass(frozen=True)
class Clocked:
    """A time in microseconds: the median of ``samples``, each the mean over ``nodes`` launches, and its 95 % interval.

    ``whole_us`` is the same work by the wall clock: both matrices copied to the device, the launch, the result copied
    back; ``compile_s`` is what the first launch took on top, most of it compiling. Both are None where they make no
    sense.
    """

    median_us: float
    low_us: float
    high_us: float
    samples: int
    nodes: int
    whole_us: float | None = None
    compile_s: float | None = None


@dataclass(frozen=True)
class Point:
    """One product by one kernel, or by ``cuBLAS``, ``NumPy`` or ``three loops`` on the host, which have no tile.

    ``error`` is the largest difference from the product in float64, and ``largest`` the largest element of that.
    ``skipped`` says why there is no time. ``moved`` was counted on the same card, None where that was not done;
    ``grid`` is that of the launch, empty where there was none. ``filled`` is the size up to which zeros filled the
    matrices, for a kernel that knows no edges; None where that was not needed. ``count_s`` is how long one pass of
    counting took, None where nothing was counted at this size.
    """

    kernel: str
    size: Size
    tile: int | None
    dtype: str
    time: Clocked | None
    error: float | None = None
    largest: float | None = None
    moved: Traffic | None = None
    skipped: str | None = None
    grid: tuple[int, ...] = ()
    filled: Size | None = None
    count_s: float | None = None

    @property
    def rate(self) -> float | None:
        """Operations per second."""
        return self.size.operations / (self.time.median_us * 1e-6) if self.time else None


@dataclass(frozen=True)
class Ceiling:
    """The most that the card does of one thing, measured: ``rate`` bytes or operations per second.

    ``low`` to ``high`` is the 95 % interval of the median; ``how`` says what ran.
    """

    name: str
    kind: Literal["bytes", "operations"]
    rate: float
    low: float
    high: float
    how: str
    conditions: Mapping[str, str]


@dataclass(frozen=True)
class Host:
    """The machine around the card: its processor, how many of its cores were used, and NumPy with what multiplies."""

    processor: str
    cores: int
    numpy: str


@dataclass(frozen=True)
class Sweep:
    """Everything measured of one kernel file on one card.

    ``library`` names what called cuBLAS, or says why nothing did. ``start_up_s`` is the first use of the card by a
    fresh process. ``limit_s`` bounds the time for one point. ``notes`` tell of sizes at which ``main()`` failed.
    ``kernels`` are the digests of what was measured, by the name of the kernel.
    """

    file: str
    sha256: str
    version: str
    date: str
    device: Device
    host: Host
    library: str
    start_up_s: float
    limit_s: float
    conditions: Mapping[str, str]
    ceilings: tuple[Ceiling, ...]
    points: tuple[Point, ...]
    notes: tuple[str, ...] = ()
    kernels: Mapping[str, str] = field(default_factory=dict)

    def is_of(self, sha256: str, kernels: Mapping[str, str]) -> bool:
        """Whether it was measured of this text, or of another with the same kernels, by their digests."""
        return self.sha256 == sha256 or bool(kernels and dict(self.kernels) == dict(kernels))

    def ceiling(self, name: str) -> Ceiling | None:
        """Return the ceiling of this name, None where it was not measured."""
        return next((ceiling for ceiling in self.ceilings if ceiling.name == name), None)


def joined(older: Sweep, newer: Sweep) -> Sweep:
    """Return the newer measurement with those points of the older one that it did not repeat.

    They may be of two versions of a file whose kernels are the same.

    Raises:
        InputError: when the two are not of the same card and source.
    """
    if older.device.name != newer.device.name or not older.is_of(newer.sha256, newer.kernels):
        raise InputError(OF_ANOTHER)
    fresh = {_key(point) for point in newer.points}
    older_points = tuple(point for point in older.points if _key(point) not in fresh)
    measured_again = {ceiling.name for ceiling in newer.ceilings}
    ceilings = tuple(ceiling for ceiling in older.ceilings if ceiling.name not in measured_again)
    return replace(
        newer,
        ceilings=ceilings + newer.ceilings,
        points=older_points + newer.points,
        notes=tuple(dict.fromkeys(older.notes + newer.notes)),
    )


def _key(point: Point) -> tuple[object, ...]:
    return point.kernel, point.size, point.tile, point.dtype


def save_sweep(sweep: Sweep, path: Path) -> None:
    """Write a measurement.

    Raises:
        InputError: when the file cannot be written.
    """
    with writing(path) as partial:
        partial.write_text(_text(sweep), encoding="utf-8")


def load_sweep(path: Path) -> Sweep:
    """Read a measurement.

    Raises:
        InputError: when the file is none, or of another schema.
    """
    try:
        if not path.is_file():
            raise ValueError("it is not a file")
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError("it is too large")
        return parse_sweep(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is not a sweep: {error}; run smemviz sweep again") from None


def parse_sweep(text: str) -> Sweep:
    """Read the JSON of a measurement.

    Raises:
        ValueError: when it is something else.
    """
    try:
        data: Any = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    sweep: Sweep = decode(Sweep, data, "sweep")
    return sweep


def sweep_facts(sweep: Sweep) -> dict[str, Any]:
    """Return a measurement as it stands in JSON."""
    return {"schema": SCHEMA} | asdict(sweep)


def _text(sweep: Sweep) -> str:
    """Write JSON with a line per point, so that a change is seen where it is."""
    facts = sweep_facts(sweep)
    rows = {name: [json.dumps(row) for row in facts.pop(name)] for name in ("ceilings", "points")}
    head = json.dumps(facts, indent=1).removesuffix("\n}")
    lists = "".join(f',\n "{name}": [\n  ' + ",\n  ".join(lines) + "\n ]" for name, lines in rows.items())
    return f"{head}{lists}\n}}\n"
