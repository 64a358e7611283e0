"""One launch of a kernel of Triton, shown to a recorder."""

import math
from functools import partial
from typing import Any

from numpy.typing import NDArray

from smemviz.engines.launch_shape import configuration, launch_place
from smemviz.engines.lockstep.ptx.host.cuda_launch import Make
from smemviz.engines.options import LaunchOptions
from smemviz.engines.recorder import LaunchOutcome, Recorder
from smemviz.engines.triton.kernels import Compiling, bound, entry_file, entry_of, passed
from smemviz.engines.triton.tensors import storage_of, storages
from smemviz.errors import UnsupportedError
from smemviz.messages import english
from smemviz.recordings.data import Dim3


def recorded(
    recorder: Recorder, launcher: Compiling, grid: Dim3, values: tuple[Any, ...], own_file: str, make: Make, row: int
) -> bool:
    """Let a recorder see a launch that ``make`` makes, each of whose logged requests takes ``row`` bytes.

    ``values`` are its arguments as Triton has them, constants included, and ``own_file`` is the script as messages name
    it. Returns whether the launch was made.

    Raises:
        UnsupportedError: for a kernel that is not recorded.
    """
    source, metadata = launcher.source, launcher.metadata
    place, name = launch_place(""), source.fn.__name__
    maps = iter(getattr(metadata, "tensordesc_meta", None) or ())
    arguments = list(passed(source.signature.items(), values, maps))

    def made(options: LaunchOptions) -> LaunchOutcome:
        if math.prod(getattr(metadata, "cluster_dims", (metadata.num_ctas,))) > 1:
            raise UnsupportedError(*place, english("a launch of clusters is not recorded"))
        entry = entry_of(launcher, own_file, arguments)
        copies: dict[int, NDArray[Any]] = {}
        taken = len(entry.program.kernel(name, 1).parameters)
        given = bound(arguments, taken, partial(storage_of, copies=copies), partial(storages, copies))
        shape = configuration(place, (grid, 32 * metadata.num_warps, 0, metadata.shared))
        return make(entry, shape, given, place, options)

    return recorder.make(name, made, row, entry_file(launcher, own_file))
