"""What text from a browser may use."""

import sys
from dataclasses import dataclass, field

from smemviz.engines.options import Limits


@dataclass(frozen=True)
class SandboxLimits:
    """The most that one run of a text may use; beyond any of them it ends with a line that says which.

    ``depth`` is of the nesting of brackets, blocks and expressions, ``nodes`` are of the syntax tree, of which kernel
    files have at most one to three bytes; it takes hundreds of times as much memory. ``steps`` counts expressions and
    statements of the host part, ``calls`` how deep its functions may call each other, ``characters`` and ``items``
    bound one text or list, ``array_bytes`` one array of the host, ``integer_bits`` one whole number. ``log_bytes`` is
    what is recorded, ``launch`` what one launch may use. ``seconds`` and ``memory_bytes`` are of the process and held
    by its supervisor and the operating system.
    """

    source_bytes: int = 64 * 1024
    depth: int = 60
    nodes: int = 24_000
    steps: int = 200_000
    calls: int = 16
    characters: int = 10_000
    items: int = 10_000
    array_bytes: int = 64 * 1024**2
    integer_bits: int = 1024
    launches: int = 64
    log_bytes: int = 32 * 1024**2
    seconds: float = 10.0
    memory_bytes: int = 3 * 1024**3
    launch: Limits = field(
        default_factory=lambda: Limits(
            iterations=1_000_000, all_loops=True, memory_bytes=512 * 1024**2, threads=1 << 22
        )
    )


def memory_is_bounded() -> bool:
    """Tell whether the operating system holds ``memory_bytes``; Linux alone does."""
    return sys.platform == "linux"
