"""The registers of the machine: which thread, block and lane, and how large everything is."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.memory.shared import SharedLayout
from smemviz.recordings.data import WARP_SIZE, Dim3

CYCLES_OF_A_READING = 64  # that pass from one reading of a clock to the next; lockstep has no time of its own
CLOCKS: dict[str, Any] = {
    **dict.fromkeys(("clock", "globaltimer_lo"), np.uint32),
    **dict.fromkeys(("clock64", "globaltimer"), np.uint64),
}

_MULTIPROCESSORS = 132  # of the H200, which lockstep stands in for
_RESERVED = 1024


def special_registers(
    configuration: Configuration, layout: SharedLayout, first_block: int, blocks: int
) -> dict[str, Any]:
    """Return every register of the machine for a batch of blocks: a number, or one a thread, or one a block."""
    grid, block = configuration.grid, configuration.block
    threads = block[0] * block[1] * block[2]
    slots = np.arange(-(-threads // WARP_SIZE) * WARP_SIZE)
    lane, numbers = slots % WARP_SIZE, first_block + np.arange(blocks)
    values: dict[str, Any] = {}
    for axis, own, outer in zip("xyz", block, grid, strict=True):
        values[f"ntid.{axis}"], values[f"nctaid.{axis}"] = np.uint32(own), np.uint32(outer)
        values[f"tid.{axis}"] = np.uint32(0) if own == 1 else _row(slots % own)
        values[f"ctaid.{axis}"] = _column(numbers % outer)
        slots, numbers = slots // own, numbers // outer
    slots = np.arange(len(slots))
    bit = np.uint64(1) << lane.astype(np.uint64)
    masks = {"eq": bit, "lt": bit - 1, "le": 2 * bit - 1, "gt": ~(2 * bit - 1), "ge": ~(bit - 1)}
    values |= {f"lanemask_{name}": _row(mask & np.uint64(0xFFFFFFFF)) for name, mask in masks.items()}
    values |= {
        "laneid": _row(lane),
        "warpid": _row(slots // WARP_SIZE),
        "nwarpid": np.uint32(len(slots) // WARP_SIZE),
        "smid": np.uint32(0),
        "nsmid": np.uint32(_MULTIPROCESSORS),
        "gridid": np.uint64(0),
        **dict.fromkeys(("clock", "clock_hi", "globaltimer_lo", "globaltimer_hi"), np.uint32(0)),
        **dict.fromkeys(("clock64", "globaltimer"), np.uint64(0)),
        "dynamic_smem_size": np.uint32(layout.dynamic),
        "total_smem_size": np.uint32(layout.nbytes + _RESERVED),
    }
    # What a block finds at the start of its window belongs to the system.
    values |= dict.fromkeys(
        ("reserved_smem_offset_begin", "reserved_smem_offset_0", "reserved_smem_offset_1"), np.uint32(0)
    )
    values |= dict.fromkeys(("reserved_smem_offset_end", "reserved_smem_offset_cap"), np.uint32(_RESERVED))
    # Without clusters each block is a cluster of its own.
    values |= {f"cluster_ctaid.{axis}": np.uint32(0) for axis in "xyz"}
    values |= {f"cluster_nctaid.{axis}": np.uint32(1) for axis in "xyz"}
    values |= {f"clusterid.{axis}": values[f"ctaid.{axis}"] for axis in "xyz"}
    values |= {f"nclusterid.{axis}": values[f"nctaid.{axis}"] for axis in "xyz"}
    values |= {
        "cluster_ctarank": np.uint32(0),
        "cluster_nctarank": np.uint32(1),
        "is_explicit_cluster": np.bool_(False),
    }
    return values


def cluster_registers(grid: Dim3, cluster: Dim3, ranks: NDArray[np.int64]) -> dict[str, Any]:
    """Return the registers of a launch with clusters, all of whose blocks are one batch; ``ranks`` are theirs."""
    numbers = np.arange(len(ranks))
    values: dict[str, Any] = {"cluster_ctarank": _column(ranks), "is_explicit_cluster": np.bool_(True)}
    for axis, blocks, size in zip("xyz", grid, cluster, strict=True):
        values[f"cluster_ctaid.{axis}"] = _column(numbers % blocks % size)
        values[f"clusterid.{axis}"] = _column(numbers % blocks // size)
        values[f"cluster_nctaid.{axis}"], values[f"nclusterid.{axis}"] = np.uint32(size), np.uint32(blocks // size)
        numbers = numbers // blocks
    values["cluster_nctarank"] = np.uint32(np.prod(cluster))
    return values


def _row(values: Any) -> Any:
    return values.astype(np.uint32)[None, :]


def _column(values: Any) -> Any:
    same = len(values) == 1 or bool((values == values[0]).all())
    return np.uint32(values[0]) if same else values.astype(np.uint32)[:, None]
