"""Does it matter? The cycles and the time that wavefronts in excess take, and how the clock judges that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

# CUDA programming guide: 32 banks of 4 bytes per clock and multiprocessor, that is one wavefront.
DOCUMENTED_CYCLES = 1.0

# Multiprocessors by the name the driver gives a card; NVIDIA's data sheets. A card of one name is always of one size.
MULTIPROCESSORS: Mapping[str, int] = {
    "Tesla V100-SXM2-16GB": 80,
    "Tesla V100-SXM2-32GB": 80,
    "Tesla T4": 40,
    "NVIDIA A100-SXM4-40GB": 108,
    "NVIDIA A100-SXM4-80GB": 108,
    "NVIDIA A10": 72,
    "NVIDIA L4": 58,
    "NVIDIA L40S": 142,
    "NVIDIA GeForce RTX 3090": 82,
    "NVIDIA GeForce RTX 4090": 128,
    "NVIDIA H100 PCIe": 114,
    "NVIDIA H100 80GB HBM3": 132,
    "NVIDIA H200": 132,
}

_ALIKE = 0.2  # of the time lost: differences up to this are taken for agreement

Judgement = Literal["agrees", "less", "none", "more", "impossible"]


@dataclass(frozen=True)
class Excess:
    """The wavefronts in excess of one site; ``width`` is bytes per lane."""

    op: str
    width: int
    wavefronts: int


@dataclass(frozen=True)
class Cost:
    """What the wavefronts in excess of a launch cost.

    ``cycles`` is the sum over all blocks. ``sharing`` multiprocessors work them off side by side, in ``lost_us``
    microseconds; both are None where they are not known. ``calibrated`` is False when the cycles of any operation
    are the documented ones.
    """

    wavefronts: int
    cycles: float
    calibrated: bool
    sharing: int | None
    lost_us: float | None


def cost(
    excess: Sequence[Excess],
    blocks: int,
    slopes: Mapping[str, float],
    multiprocessors: int | None,
    clock_mhz: float | None,
) -> Cost:
    """Turn wavefronts in excess into cycles and time.

    Assumes that blocks spread evenly over the multiprocessors and that nothing else fills the wait.

    Args:
        excess: a row per site.
        blocks: in the grid.
        slopes: measured cycles per wavefront by operation and width, ``{"load 4": 1.0002}``.
        multiprocessors: of the card, None when that is not known.
        clock_mhz: of a multiprocessor, None when that is not known.
    """
    rows = [row for row in excess if row.wavefronts]
    keys = [f"{row.op} {row.width}" for row in rows]
    cycles = sum(row.wavefronts * slopes.get(key, DOCUMENTED_CYCLES) for row, key in zip(rows, keys, strict=True))
    sharing = 1 if blocks == 1 else None if multiprocessors is None else min(blocks, multiprocessors)
    lost = None if sharing is None or clock_mhz is None else cycles / sharing / clock_mhz
    calibrated = all(key in slopes for key in keys)
    return Cost(sum(row.wavefronts for row in rows), cycles, calibrated, sharing, lost)


def judge(lost_us: float, net_us: float, slower_us: float | None) -> Judgement | None:
    """Hold the time that excess should cost against what the clock says.

    Args:
        lost_us: what the excess should cost.
        net_us: what the launch takes above the floor.
        slower_us: how much longer it takes than the same work without excess, None when that was not measured.

    Returns:
        ``impossible`` when more is lost than was spent, else how ``slower_us`` compares: it ``agrees`` within a fifth,
        shows ``less``, ``none`` or ``more``; None when there is nothing to compare with.
    """
    if lost_us > net_us:
        return "impossible"
    if slower_us is None:
        return None
    if slower_us <= 0:
        return "none"
    if abs(slower_us - lost_us) <= _ALIKE * lost_us:
        return "agrees"
    return "less" if slower_us < lost_us else "more"
