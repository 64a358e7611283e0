"""How a run and each launch in it are made and recorded, what they may use, and what a device accepts of a launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from smemviz.engines.selection import Blocks, Picker
from smemviz.errors import RefusedLaunchError
from smemviz.messages import english
from smemviz.model.hardware.compute_capability import ComputeCapability
from smemviz.recordings.data import Dim3

MachineCode = Literal["when-long", "always", "never"]
LOG_BYTES = 128 * 1024 * 1024  # of the logs of one run, about 250,000 requests; a file holds as many

_BLOCK_LIMITS = (1024, 1024, 64)
_GRID_LIMITS = (2**31 - 1, 65535, 65535)


@dataclass(frozen=True)
class Limits:
    """What one launch may use: iterations of its loops, bytes of arrays allocated for it at once, threads in all.

    ``iterations`` are those from where a ``while`` begins until it ends, with those of the loops in it: a loop over a
    range ends by itself. Where ``all_loops`` count they are those of the whole launch. ``threads_at_once`` is how many
    threads a batch of blocks has and ``shared_at_once`` how many bytes of shared memory; a block is never divided.
    """

    iterations: int = 10_000_000
    all_loops: bool = False
    memory_bytes: int = 4 * 1024**3
    threads: int = 1 << 36  # a quarter of an hour of a kernel that does next to nothing
    threads_at_once: int = 1 << 16
    shared_at_once: int = 1 << 25

    def blocks_at_once(self, slots: int, shared: int) -> int:
        """Return how many blocks a batch has, of so many threads and bytes of shared memory each."""
        return max(1, min(self.threads_at_once // slots, self.shared_at_once // max(1, shared)))


DEFAULT_LIMITS = Limits()


def check_cluster(place: tuple[str, int], grid: Dim3, cluster: Dim3) -> None:
    """Refuse a grid that is not made of whole clusters.

    Raises:
        RefusedLaunchError: naming both.
    """
    if any(blocks % size for blocks, size in zip(grid, cluster, strict=True)):
        raise RefusedLaunchError(
            *place,
            english(
                "a grid of {grid} blocks is not made of whole clusters of {cluster}. "
                "Make each axis of the grid a multiple of the cluster's.",
                grid=" x ".join(map(str, grid)),
                cluster=" x ".join(map(str, cluster)),
            ),
        )


def check_launch(place: tuple[str, int], grid: Dim3, block: Dim3, device: ComputeCapability) -> None:
    """Refuse a grid or a block that the device would not start; ``place`` is the file and line of the launch.

    Raises:
        RefusedLaunchError: naming the numbers and the remedy.
    """
    threads = block[0] * block[1] * block[2]
    if threads > device.max_threads:
        shape = " x ".join(map(str, block))
        raise RefusedLaunchError(
            *place,
            english(
                "a block of {shape} has {threads} threads; a device takes {most}. "
                'Make the block smaller and the grid larger. CUDA C++ calls it "invalid configuration argument".',
                shape=shape,
                threads=threads,
                most=device.max_threads,
            ),
        )
    for what, sizes, limits in (("block", block, _BLOCK_LIMITS), ("grid", grid, _GRID_LIMITS)):
        for axis, size, limit in zip("xyz", sizes, limits, strict=True):
            if size > limit:
                values = {"size": size, "axis": axis, "most": limit}
                if what == "block":
                    message = english(
                        "the block has {size} in {axis}; a device takes {most}. Use another axis.", **values
                    )
                else:
                    message = english(
                        "the grid has {size} in {axis}; a device takes {most}. Use another axis.", **values
                    )
                raise RefusedLaunchError(*place, message)


def check_shared(
    place: tuple[str, int], static: int, dynamic: int, device: ComputeCapability, how: str = "shape 0"
) -> None:
    """Refuse more shared memory than a block can have; sizes in bytes, ``how`` a dynamic array is declared.

    Raises:
        RefusedLaunchError: naming the numbers and the remedy.
    """
    if static > device.static_shared:
        raise RefusedLaunchError(
            *place,
            english(
                "the kernel declares {static} bytes of static shared memory; a block has {most}. "
                "Declare it dynamic ({how}) and give its bytes in the launch.",
                static=static,
                most=device.static_shared,
                how=how,
            ),
        )
    if static + dynamic > device.opt_in_shared:
        raise RefusedLaunchError(
            *place,
            english(
                "{static} bytes of static and {dynamic} of dynamic shared memory are {both}; "
                "compute capability {capability} has {most} per block. Make the tile smaller.",
                static=static,
                dynamic=dynamic,
                both=static + dynamic,
                capability=device.name,
                most=device.opt_in_shared,
            ),
        )


DEFAULT_TARGET = (8, 0)
Progress = Callable[[int, int, str], None]  # called as progress(done, total, text)


@dataclass(frozen=True)
class RunOptions:
    """How a run is made and recorded.

    ``progress`` is called as a launch goes on, ``log_bytes`` bounds the logs of all launches together, ``limits`` are
    those of one launch in lockstep. ``picker`` tells which launches are recorded; the others happen all the same.
    ``target`` is the compute capability that Triton compiles for where there is no GPU, ``config`` the number of the
    configuration that its ``autotune`` takes. ``configurations`` are filled with
    those of each kernel, as it writes them. ``machine_code`` is as ``LaunchOptions`` has it.
    """

    progress: Progress | None = None
    log_bytes: int = LOG_BYTES
    picker: Picker = field(default_factory=Picker)
    limits: Limits = DEFAULT_LIMITS
    target: tuple[int, int] = DEFAULT_TARGET
    config: int | None = None
    configurations: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    machine_code: MachineCode = "when-long"


@dataclass(frozen=True)
class LaunchOptions:
    """How one launch is made and recorded.

    Args:
        progress: called as ``progress(blocks done, blocks, kernel)``, and every second of a batch in lockstep with
            percents; one with a method ``expect(seconds, kernel)`` is told of what will take longer than a few seconds.
        log_bytes: the most the log may take before requests are counted instead of kept.
        limits: what the launch may use in lockstep.
        number: of the launch in its recording.
        logged: the blocks to log in full; None means all where they fit, else the first, the middle and the last.
        recorded: False for a launch that only has to happen; nothing is counted then.
        machine_code: whether a kernel in Python is compiled in lockstep: "when-long", "always" or "never".
    """

    progress: Progress | None = None
    log_bytes: int = LOG_BYTES
    limits: Limits = DEFAULT_LIMITS
    number: int = 0
    logged: Blocks | None = None
    recorded: bool = True
    machine_code: MachineCode = "when-long"


DEFAULT_OPTIONS = LaunchOptions()
