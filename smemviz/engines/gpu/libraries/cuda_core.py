"""Launches of cuda.core on a GPU, each recorded before it happens."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from smemviz.engines.gpu.libraries.wrapped import Wrapped, made_after, real
from smemviz.engines.launch_shape import launch_place
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels, macros, number_of
from smemviz.engines.process import replaced
from smemviz.engines.recorder import Recorder
from smemviz.errors import UnsupportedError
from smemviz.messages import english


@contextmanager
def watched_cuda_core(kernels: RawKernels, recorder: Recorder) -> Iterator[None]:
    """Show each launch of a kernel in CUDA C++ that is made while this lasts."""
    with ExitStack() as stack:
        for name in ("cuda.core", "cuda.core.experimental"):
            try:
                module = importlib.import_module(name)
            except ImportError:  # an old version has only the one, a new one only the other
                continue
            stack.enter_context(replaced(module, _replacements(module, kernels, recorder)))
        yield


def _replacements(core: Any, kernels: RawKernels, recorder: Recorder) -> dict[str, Any]:
    program, launch, linker = core.Program, core.launch, core.Linker

    class Code(Wrapped):
        def get_kernel(self, name: Any) -> Wrapped:
            plain = name.decode() if isinstance(name, bytes) else name
            return Wrapped(self._real.get_kernel(name), _source=(*self._source, plain))

    class Text(Wrapped):
        def compile(self, *args: Any, **kwargs: Any) -> Code:
            expressions = kwargs.get("name_expressions") or (args[1] if len(args) > 1 else ())
            return Code(self._real.compile(*args, **kwargs), _source=(*self._source, tuple(expressions)))

    def new_program(code: Any, code_type: Any, options: Any = None) -> Any:
        made = program(code, code_type, options)
        return Text(made, _source=(code, macros(options))) if str(code_type).lower() == "c++" else made

    def launched(stream: Any, config: Any, kernel: Any, *values: Any) -> None:
        def record() -> bool:
            if not isinstance(kernel, Wrapped):
                raise UnsupportedError(
                    *launch_place(""), english("a kernel that is not made of CUDA C++ is not recorded")
                )
            if config.cluster is not None:
                raise UnsupportedError(*launch_place(""), english("a launch of clusters is not recorded"))
            core.Device().sync()  # what the arguments hold when the kernel begins is copied now
            code, options, expressions, name = kernel._source
            shape = (config.grid, config.block, config.shmem_size or 0)
            cuda_program = kernels.program(code, name, options)
            return kernels.launch(cuda_program, name, shape, _passed(values), expressions)

        name = kernel._source[-1] if isinstance(kernel, Wrapped) else "kernel"
        made_after(recorder, name, record, lambda: launch(stream, config, real(kernel), *values))

    def linked(*codes: Any, **kwargs: Any) -> Any:
        return linker(*map(real, codes), **kwargs)

    return {"Program": new_program, "launch": launched, "Linker": linked}


def _passed(values: Sequence[Any]) -> list[Any]:
    return [int(value.handle) if type(value).__name__ == "Buffer" else number_of(value) for value in values]
