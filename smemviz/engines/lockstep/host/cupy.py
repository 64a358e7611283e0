"""What a script gets as ``cupy`` where there is no GPU: the part of it that scripts with raw kernels need.

Arrays are NumPy's under another name. Random numbers are other ones than CuPy's, the same for the same seed. Streams
and events do nothing: every call is done when it returns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from smemviz.engines.host import launch_place
from smemviz.engines.lockstep.ptx.host.raw_kernels import RawKernels
from smemviz.errors import LaunchError, UnsupportedError
from smemviz.frontends.numba.program import Program
from smemviz.messages import said

_MAKING = "array zeros ones full zeros_like ones_like full_like arange linspace eye identity tile repeat"
_COMPUTING = (
    "sum prod max min amax amin mean std var dot matmul transpose reshape ravel concatenate stack vstack hstack "
    "expand_dims squeeze abs absolute sqrt exp log sin cos tanh maximum minimum add subtract multiply divide power "
    "where clip sort argsort argmax argmin cumsum all any allclose isclose array_equal count_nonzero unique roll flip "
    "triu tril outer inner bincount histogram round floor ceil mod broadcast_to meshgrid pad floor_divide"
)
_NUMPY = frozenset((_MAKING + " " + _COMPUTING).split())
_CONSTANTS = (
    "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 intp dtype "
    "pi e inf nan newaxis integer floating generic number"
)
_TESTING = ("assert_allclose", "assert_array_equal", "assert_array_almost_equal")
_RANDOM = "seed rand randn random random_sample randint uniform normal standard_normal permutation shuffle choice"


class ndarray(np.ndarray[Any, Any]):  # noqa: N801 - CuPy's name
    """An array of the device."""

    def get(self, stream: Any = None, order: Any = "C", out: Any = None, blocking: bool = True) -> Any:
        """Return a copy in host memory, or fill ``out``."""
        if out is None:
            return np.array(self, order=order, subok=False)
        out[...] = self
        return out

    def set(self, arr: Any, stream: Any = None) -> None:
        """Fill the array from one of the host."""
        self[...] = arr


def _on_device(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value).view(ndarray)
    return type(value)(map(_on_device, value)) if type(value) in (list, tuple) else value


def _of_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        return _on_device(function(*given, **named))

    return called


class _Nothing:
    """A stream, an event, a device or what else there is no need of where every call is done when it returns."""

    id = 0
    ptr = 0
    compute_capability = "90"

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def synchronize(self) -> None:
        """Wait for nothing."""

    def use(self) -> _Nothing:
        """Return itself."""
        return self

    def record(self, stream: Any = None) -> None:
        """Note nothing."""

    def wait_event(self, event: Any) -> None:
        """Wait for nothing."""


class _Stream(_Nothing):
    null: _Stream


_Stream.null = _Stream()


class RawKernel:
    """One kernel of a text of CUDA C++."""

    def __init__(
        self, kernels: RawKernels, code: str, name: str, options: Sequence[str] = (), expressions: Sequence[str] = ()
    ) -> None:
        self.code = code
        self.name = name
        self.options = tuple(options)
        self.max_dynamic_shared_size_bytes = 0
        self._kernels = kernels
        self._expressions = expressions

    def __call__(self, grid: Any, block: Any, args: Sequence[Any], *, shared_mem: int = 0, **_: Any) -> None:
        """Launch it in lockstep."""
        arrays = [one for one in args if isinstance(one, np.ndarray)]
        for number, one in enumerate(arrays):
            if any(np.shares_memory(one, other) and one is not other for other in arrays[:number]):
                what = said("two arguments are parts of one array; lockstep gives each array memory of its own")
                raise UnsupportedError(*launch_place(""), what)
        if not isinstance(args, tuple | list):
            raise LaunchError(*launch_place(""), said("CuPy takes the arguments of a kernel as a tuple"))
        program = self._kernels.program(self.code, self.name, self.options)
        shape = (tuple(grid), tuple(block), shared_mem)
        self._kernels.launch(program, self.name, shape, args, self._expressions)

    def compile(self, log_stream: Any = None) -> None:
        """Compile nothing: that is done at the launch."""


class RawModule:
    """A text of CUDA C++ with kernels."""

    def __init__(
        self,
        kernels: RawKernels,
        code: str | None = None,
        *,
        path: str | None = None,
        options: Sequence[str] = (),
        name_expressions: Sequence[str] | None = None,
    ) -> None:
        if code is None:
            what = said("a RawModule of a compiled file runs on a GPU only; give it code")
            raise UnsupportedError(*launch_place(""), what)
        self.code = code
        self.options = tuple(options)
        self.name_expressions = tuple(name_expressions or ())
        self._kernels = kernels

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel by its name."""
        return RawKernel(self._kernels, self.code, name, self.options, self.name_expressions)

    def compile(self, log_stream: Any = None) -> None:
        """Compile nothing: that is done at the launch."""


class Module(ModuleType):
    """A module, or one in it, of which a part is known."""

    def __init__(self, name: str, script: Program, known: dict[str, Any]) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__dict__.update(known)
        self._script = script

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self.__name__ == "cupy" and name in _CONSTANTS.split():
            return getattr(np, name)
        if self.__name__ == "cupy" and name in _NUMPY:
            return _of_numpy(getattr(np, name))
        what = said("{name} is not known where there is no GPU; run it on one", name=f"{self.__name__}.{name}")
        file, line = launch_place("")
        if file == self._script.file:
            raise UnsupportedError(file, line, what)
        raise AttributeError(what)


@contextmanager
def stand_in_for_cupy(script: Program, kernels: RawKernels) -> Iterator[None]:
    """Let scripts import this as ``cupy`` while this lasts."""
    modules = _modules(script, kernels)
    before = {name: one for name, one in sys.modules.items() if name.partition(".")[0] in ("cupy", "cupyx")}
    for name in before:
        del sys.modules[name]
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            sys.modules.pop(name, None)
        sys.modules.update(before)


def _modules(script: Program, kernels: RawKernels) -> dict[str, ModuleType]:
    def raw_kernel(code: str, name: str, options: Sequence[str] = (), *_: Any, **__: Any) -> RawKernel:
        return RawKernel(kernels, code, name, options)

    def raw_module(
        code: str | None = None,
        *,
        path: str | None = None,
        options: Sequence[str] = (),
        name_expressions: Sequence[str] | None = None,
        **_: Any,
    ) -> RawModule:
        return RawModule(kernels, code, path=path, options=options, name_expressions=name_expressions)

    random = np.random.RandomState(0)

    def drawn(name: str) -> Callable[..., Any]:
        def draw(*given: Any, dtype: Any = None, **named: Any) -> Any:
            if name == "randint":
                named["dtype"] = dtype or int
            found = _on_device(getattr(random, name)(*given, **named))
            return found.astype(dtype) if dtype is not None and found is not None else found

        return draw

    done = {"deviceSynchronize": lambda: None, "getDeviceCount": lambda: 1, "getDevice": lambda: 0}
    runtime = Module("cupy.cuda.runtime", script, done)
    stream = Module("cupy.cuda.stream", script, {"Stream": _Stream})
    cuda = {"Stream": _Stream, "Event": _Nothing, "Device": _Nothing, "runtime": runtime, "stream": stream}
    cuda |= {"get_current_stream": lambda: _Stream.null, "get_elapsed_time": lambda start, end: float("nan")}
    cuda |= {"is_available": lambda: True}
    made: dict[str, Any] = {
        "ndarray": ndarray,
        "array": lambda obj, *given, **named: _on_device(np.array(obj, *given, **named)),
        "asnumpy": lambda a, *_, **__: np.array(a, subok=False),
        "empty": _of_numpy(np.zeros),  # what is in new memory is not told
        "empty_like": _of_numpy(np.zeros_like),
        "RawKernel": raw_kernel,
        "RawModule": raw_module,
        "get_array_module": lambda *arrays: modules["cupy"],
        "cuda": Module("cupy.cuda", script, cuda),
        "random": Module("cupy.random", script, {name: drawn(name) for name in _RANDOM.split()}),
        "testing": Module("cupy.testing", script, {name: getattr(np.testing, name) for name in _TESTING}),
    }
    for name in ("asarray", "ascontiguousarray", "asfortranarray", "asanyarray"):
        made[name] = _moved(getattr(np, name))
    modules: dict[str, ModuleType] = {"cupy": Module("cupy", script, made)}
    inner = (made["cuda"], made["random"], made["testing"], runtime, stream)
    return modules | {one.__name__: one for one in inner}


def _moved(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy that copies what comes from the host."""

    def called(a: Any, *given: Any, **named: Any) -> Any:
        return _on_device(function(a if isinstance(a, ndarray) else np.array(a), *given, **named))

    return called
