"""How many blocks share a multiprocessor, as far as shared memory and threads decide it."""

from __future__ import annotations

from smemviz.errors import InputError
from smemviz.model.hardware.compute_capability import device


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
    each = -(-(shared_bytes + limits.reserved_shared) // shared.granularity) * shared.granularity
    most = [shared.blocks] + [shared.shared_bytes // each] * (each > 0)
    if threads is not None:
        whole_warps = -(-threads // limits.warp_size) * limits.warp_size
        most.append(shared.threads // whole_warps)
    return min(most)
