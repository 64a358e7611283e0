"""What the launches of a kernel file leave in their arrays on the device, told by hashes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from numba import cuda
from numba.cuda.dispatcher import CUDADispatcher

from smemviz.engines.gpu.passes import Arguments
from smemviz.engines.gpu.recorder import watch
from smemviz.engines.host import Configuration
from smemviz.engines.output_hashes import OutputHash, hashed
from smemviz.frontends.numba.functions import Function
from smemviz.frontends.numba.program import Program


def outputs(program: Program, kernels: Collection[str]) -> tuple[OutputHash, ...]:
    """Run a kernel file's ``main()`` on the device and hash what each launch of some kernels leaves in its arrays.

    Raises:
        MissingError: when there is no GPU.
        KernelFileError: when ``main()`` fails.
    """
    onlooker = _Onlooker(kernels)
    watch(program, onlooker)
    return tuple(onlooker.hashes)


class _Onlooker:
    """Makes each launch once before it happens, on the same arrays, and puts them back."""

    def __init__(self, kernels: Collection[str]) -> None:
        self.kernels = kernels
        self.hashes: list[OutputHash] = []

    def launch(
        self, dispatcher: CUDADispatcher, function: Function, config: Configuration, arguments: Sequence[Any]
    ) -> None:
        """Make one launch and hash what it leaves."""
        if function.name not in self.kernels:
            return
        with Arguments(arguments) as held:
            dispatcher.configure(config.grid, config.block, 0, config.dynamic_shared)(*held.values)
            cuda.synchronize()
            arrays = [array.copy_to_host() for _, array in held.arrays_by_name(function)]
            held.restore()
        self.hashes.append(OutputHash(function.name, hashed(arrays)))
