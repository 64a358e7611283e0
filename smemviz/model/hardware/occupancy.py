"""How many blocks share a multiprocessor, as far as shared memory and threads decide it."""

from __future__ import annotations

from dataclasses import dataclass

from smemviz.errors import InputError
from smemviz.model.hardware.compute_capability import KIB, device


@dataclass(frozen=True)
class Multiprocessor:
    """What the blocks on one multiprocessor share.

    ``granularity`` is the bytes that shared memory is handed out in.
    """

    shared_bytes: int
    blocks: int
    threads: int
    granularity: int


# KiB of shared memory, blocks and threads: CUDA C++ programming guide, technical specifications per compute capability.
# Granularity: cuda_occupancy.h, before 3.0 the occupancy calculator that CUDA 7 came with.
_SPECIFICATIONS = {
    **dict.fromkeys([(1, 0), (1, 1)], (16, 8, 768, 512)),
    **dict.fromkeys([(1, 2), (1, 3)], (16, 8, 1024, 512)),
    **dict.fromkeys([(2, 0), (2, 1)], (48, 8, 1536, 128)),
    **dict.fromkeys([(3, 0), (3, 2), (3, 5)], (48, 16, 2048, 256)),
    (3, 7): (112, 16, 2048, 256),
    (5, 0): (64, 32, 2048, 256),
    (5, 2): (96, 32, 2048, 256),
    (5, 3): (64, 32, 2048, 256),
    (6, 0): (64, 32, 2048, 256),
    (6, 1): (96, 32, 2048, 256),
    (6, 2): (64, 32, 2048, 256),
    **dict.fromkeys([(7, 0), (7, 2)], (96, 32, 2048, 256)),
    (7, 5): (64, 16, 1024, 256),
    (8, 0): (164, 32, 2048, 128),
    (8, 6): (100, 16, 1536, 128),
    (8, 7): (164, 16, 1536, 128),
    (8, 9): (100, 24, 1536, 128),
    **dict.fromkeys([(9, 0), (10, 0), (10, 3)], (228, 32, 2048, 128)),
    **dict.fromkeys([(10, 1), (11, 0)], (228, 24, 1536, 128)),
    **dict.fromkeys([(12, 0), (12, 1)], (100, 24, 1536, 128)),
}


def multiprocessor(cc: tuple[int, int]) -> Multiprocessor:
    """Look up a multiprocessor.

    Raises:
        InputError: when the table of compute capabilities has no such row.
    """
    kib, blocks, threads, granularity = _SPECIFICATIONS[device(cc).cc]
    return Multiprocessor(kib * KIB, blocks, threads, granularity)


def blocks_per_multiprocessor(shared_bytes: int, cc: tuple[int, int], threads: int | None = None) -> int:
    """Return how many blocks of so many bytes of shared memory fit; registers may allow fewer.

    0 when not even one does. ``threads`` of a block count too where they are known; without them, and without shared
    memory, it is the most blocks that a multiprocessor takes.

    Raises:
        InputError: for a negative size, threads that no block has, a compute capability that is not in the table.
    """
    row, limits = multiprocessor(cc), device(cc)
    if shared_bytes < 0:
        raise InputError(f"a block cannot have {shared_bytes} bytes of shared memory")
    if threads is not None and not 1 <= threads <= limits.max_threads:
        raise InputError(f"a block has 1 to {limits.max_threads} threads, not {threads}")
    if shared_bytes > limits.opt_in_shared:
        return 0
    each = -(-(shared_bytes + limits.reserved_shared) // row.granularity) * row.granularity
    most = [row.blocks] + [row.shared_bytes // each] * (each > 0)
    if threads is not None:
        whole_warps = -(-threads // limits.warp_size) * limits.warp_size
        most.append(row.threads // whole_warps)
    return min(most)
