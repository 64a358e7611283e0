"""A bound on what a run in lockstep allocates on the host, where a wrong size would take the machine down."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

HOST_BYTES = 8 << 30  # at most, beyond what the process has already; a launch has 4 GiB of it

_lock = threading.Lock()
_inside = 0
_before = (0, 0)


@contextmanager
def bounded() -> Iterator[None]:
    """Let an allocation fail with ``MemoryError`` that would take this process beyond ``HOST_BYTES`` more.

    Where less is free that is the bound.

    The limit is the kernel's on the whole process, so it counts what other threads allocate meanwhile. Linux alone
    keeps it; elsewhere nothing is bounded.
    """
    global _inside, _before
    if sys.platform != "linux":
        yield
        return
    import resource

    with _lock:
        _inside += 1
        if _inside == 1:
            soft, hard = _before = resource.getrlimit(resource.RLIMIT_DATA)
            limit = _bytes("/proc/self/status", "VmData") + min(HOST_BYTES, _bytes("/proc/meminfo", "MemAvailable"))
            for known in (soft, hard):
                limit = limit if known == resource.RLIM_INFINITY else min(limit, known)
            resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                resource.setrlimit(resource.RLIMIT_DATA, _before)


def _bytes(path: str, name: str) -> int:
    """Return a number of the kernel's: ``VmData`` is what the limit counts, private memory that can be written."""
    with open(path, encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(f"{name}:"))
