"""Recording whatever launches kernels: a script as it is, or the lines of a ``with`` statement."""

from __future__ import annotations

import importlib
import linecache
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

from smemviz.engines.backend import Engine, assembled, chosen, cut_short_as, gpu_engine, recording_of
from smemviz.engines.launch_shape import is_library
from smemviz.engines.options import LOG_BYTES, RunOptions
from smemviz.engines.recorder import Children, Recorder, entering, main_failed, run_in_child
from smemviz.engines.script_host import execute, execute_as_child, why_not_recorded
from smemviz.engines.selection import Blocks, Picker, selection
from smemviz.errors import InputError, KernelFileError, PlaceError
from smemviz.frontends.numba.definitions import Definitions
from smemviz.frontends.numba.python_functions import Function, function_in, function_of
from smemviz.frontends.numba.python_program import PythonProgram, find_main, no_arguments
from smemviz.frontends.numba.skeleton import main_for
from smemviz.messages import english
from smemviz.recordings.data import Launch
from smemviz.recordings.findings import Finding
from smemviz.recordings.recording import EngineName, Recording

_running: list[EngineName] = []  # the engine of each recording that is under way, the innermost last


def run_script(
    program: PythonProgram, arguments: Sequence[str] = (), engine: Engine = "auto", options: RunOptions | None = None
) -> Recording:
    """Execute a script as ``python script.py ARGUMENTS`` does and record every launch of every kernel in it.

    The script is trusted: this is for a file that its user names, never for text from elsewhere.

    Raises:
        CutShortError: for Ctrl-C once it has launched something.
        InputError: when no launch is of those that are asked for.
        KernelFileError: when it fails before it launches anything, later that is a finding; or launches nothing.
        MissingError: when the engine, or the script, needs what this machine lacks.
        UnsupportedError: for a kernel that is not followed, or not executed in lockstep, where it is the first that is
            launched; later that is a finding.
    """
    kind = chosen(engine)
    options = options or RunOptions()
    failed = _cell_failed if program.is_notebook else _script_failed
    recorded = partial(recording_of, program, kind, options)
    with cut_short_as(recorded), _seeing_script(kind, program, options) as recorder, recorder.recording(failed):
        execute(program, arguments, refused=recorder.leave_out, has_gpu=kind == "gpu")
    launches, findings = recorder.result()
    if not launches and not findings:
        raise _nothing_launched(kind, program)
    return recorded(launches, findings)


@contextmanager
def _seeing_script(
    kind: EngineName, program: PythonProgram, options: RunOptions, children: Children | None = None
) -> Iterator[Recorder]:
    """Let a recorder see what a script launches, here and in the processes that it starts."""
    from smemviz.engines.lockstep.host.host_memory import bounded
    from smemviz.engines.lockstep.host.stand_ins.seeing import notebook_modules

    find = Definitions(partial(function_in, file=program.file, source=program.source, tree=program.tree))
    bound = bounded() if kind == "lockstep" else nullcontext()
    with bound, _seeing(kind, find, options, children) as recorder:
        further = kind, program, replace(options, progress=None), recorder.children
        with _seeing_libraries(kind, program, recorder), notebook_modules(program), entering(_enter_script, *further):
            yield recorder


def _enter_script(kind: EngineName, program: PythonProgram, options: RunOptions, children: Children) -> None:
    _entered.enter_context(_seeing_script(kind, program, options, children))
    run_in_child(lambda: execute_as_child(program))


@contextmanager
def _seeing_statement(
    kind: EngineName, find: Callable[[FunctionType], Function], options: RunOptions, children: Children | None = None
) -> Iterator[Recorder]:
    """Let a recorder see what the lines of a ``with`` statement launch, here and in the processes that they start."""
    with _seeing(kind, find, options, children) as recorder, entering(_enter, kind, options, recorder.children):
        yield recorder


def _enter(kind: EngineName, options: RunOptions, children: Children) -> None:
    _entered.enter_context(_seeing_statement(kind, function_of, options, children))


_entered = ExitStack()


@contextmanager
def _seeing_libraries(kind: EngineName, program: PythonProgram, recorder: Recorder) -> Iterator[None]:
    """Let a recorder see the kernels that a script launches through CuPy, PyCUDA, cuda.core or Triton."""
    if kind == "lockstep":
        from smemviz.engines.lockstep.host.stand_ins.seeing import seeing
        from smemviz.engines.triton.seeing_triton import may_use_triton, triton_in_lockstep

        triton = triton_in_lockstep(program, recorder) if may_use_triton(program) else nullcontext()
        with seeing(program, recorder), triton:
            yield
    else:
        from smemviz.engines.gpu.libraries.scripts import watched

        with watched(program, recorder):
            yield


def _nothing_launched(kind: EngineName, program: PythonProgram) -> KernelFileError:
    """Say what a file lacks that was run and launched no kernel."""
    main = find_main(program.tree)
    if program.kernels and main is not None and not program.has_main:
        return KernelFileError(program.file, main.lineno, no_arguments())
    if not program.kernels and (other := why_not_recorded(program)):
        return KernelFileError(program.file, *other)
    if kind == "gpu":
        what = english(
            "was run and launched no kernel of its own; write kernel[grid, block](...), or give it a main(). "
            "Those of PyCUDA and of the driver itself are not recorded: launch them with cupy.RawKernel or cuda.core"
        )
        return KernelFileError(program.file, 1, what)
    if not program.kernels:
        what = english("was run and launched no kernel; write kernel[grid, block](...), or give it a main()")
        return KernelFileError(program.file, 1, what)
    name, node = next(iter(program.kernels.items()))
    example = main_for(program, name)
    what = english("{kernel} is never launched; add a main() that does, such as {main}", kernel=name, main=example)
    return KernelFileError(program.file, node.lineno, what)


def _script_failed(error: PlaceError) -> Finding:
    what = english("the script ended with {what}", what=error.what)
    if not isinstance(error, KernelFileError):
        what = english("the script ended here: {what}", what=error.what)
    return replace(main_failed(error), message=what)


def _cell_failed(error: PlaceError) -> Finding:
    what = english("a cell ended with {what}", what=error.what)
    if not isinstance(error, KernelFileError):
        what = english("a cell ended here: {what}", what=error.what)
    return replace(main_failed(error), message=what)


@contextmanager
def _seeing(
    kind: EngineName, find: Callable[[FunctionType], Function], options: RunOptions, children: Children | None
) -> Iterator[Recorder]:
    """Let a recorder see every launch of this process; one that another started hands them to ``children``."""
    recorder: Any
    seeing: AbstractContextManager[None]
    if kind == "gpu":
        recorder = gpu_engine().Recorder(options)
        seeing = importlib.import_module("smemviz.engines.gpu.python_on_gpu").intercepted(recorder, find)
    else:
        from smemviz.engines.lockstep.host import python_in_lockstep

        recorder = python_in_lockstep.Recorder(options)
        seeing = python_in_lockstep.stand_in(recorder, find)
    recorder.children = children or recorder.children
    _running.append(kind)
    try:
        with seeing:
            yield recorder
    finally:
        _running.pop()


if TYPE_CHECKING:
    _AsRecording = Recording  # what it has once it is one, so that a name that is misspelt is told
else:
    _AsRecording = object


class Recorded(_AsRecording):
    """What ``recording()`` gives: once the ``with`` statement has ended, it is the recording.

    Every attribute, and ``[kernel]``, is that of ``recording``.
    """

    def __init__(self) -> None:
        self._recording: Recording | None = None

    @property
    def recording(self) -> Recording:
        """The recording.

        Raises:
            InputError: before the end of the ``with`` statement, or when no kernel was launched in it.
        """
        if self._recording is None:
            raise InputError("nothing is recorded; launch a kernel in the with statement, and read after its end")
        return self._recording

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return getattr(self.recording, name)

    def __repr__(self) -> str:
        return "<Recorded: nothing yet>" if self._recording is None else repr(self._recording)

    def __getitem__(self, kernel: str) -> Launch:
        return self.recording[kernel]

    def __iter__(self) -> Iterator[Launch]:
        return iter(self.recording)

    def __len__(self) -> int:
        return len(self.recording)

    def __bool__(self) -> bool:
        return True

    def __contains__(self, kernel: object) -> bool:
        return kernel in self.recording


@contextmanager
def recording(
    engine: Engine = "auto",
    log_bytes: int = LOG_BYTES,
    *,
    blocks: str | int | Sequence[int] | Blocks | None = None,
    kernels: str | Sequence[str] = (),
    launch: int | None = None,
    max_launches: int | None = None,
) -> Iterator[Recorded]:
    """Record every launch in a ``with`` statement; the name after ``as`` is the recording once the statement has ended.

    Launches in processes that ``multiprocessing`` or ``concurrent.futures`` start in it are recorded too.

    On the GPU kernels are counted and then launched as usual. Without one they run in lockstep, and so do the arrays
    that ``numba.cuda`` makes meanwhile: make them in the ``with`` statement. An exception passes through; what was
    launched before it is recorded. The recording is named after the file of the first kernel launched that is not
    Numba's own. What is recorded can be chosen as for ``run``. Inside another recording
    the engine is the outer one's, which has the arrays. ``log_bytes`` is the most that its log may take.

    Example:
        import numpy as np
        import smemviz
        from numba import cuda, float32
        @cuda.jit
        def reverse(out):
            tile = cuda.shared.array(64, float32)
            tile[cuda.threadIdx.x] = out[cuda.threadIdx.x]
            cuda.syncthreads()
            out[cuda.threadIdx.x] = tile[63 - cuda.threadIdx.x]
        with smemviz.recording(engine="lockstep") as recorded:
            reverse[1, 64](np.arange(64, dtype=np.float32))
        assert "reverse" in recorded and len(recorded) == 1

    Raises:
        InputError: when no launch is of those asked for, or the engine is another than the outer recording's.
        MissingError: when the engine needs what this machine lacks.
        UnsupportedError: for a kernel that is not followed, or not executed in lockstep.
    """
    kind = _running[-1] if _running else chosen(engine)
    if engine not in ("auto", kind):
        raise InputError(f"engine {engine} inside a recording by engine {kind}; leave the inner one's engine out")
    picker = Picker(selection(blocks, kernels, launch, max_launches))
    recorded = Recorded()
    files: dict[str, str] = {}

    def find(kernel: FunctionType) -> Function:
        function = function_of(kernel)
        files.setdefault(function.file, function.source)
        return function

    with _seeing_statement(kind, Definitions(find), RunOptions(log_bytes=log_bytes, picker=picker)) as recorder:
        try:
            yield recorded
        finally:
            recorder.end()
            if not recorder.is_empty:
                own = [launch.file for launch in recorder.launches if not is_library(launch.file)]
                file = next(iter([*own, *files]))
                source = files.get(file) or "".join(linecache.getlines(file))  # a process may have launched it alone
                recorded._recording = assembled(
                    file, source, {}, kind, recorder.launches, recorder.findings, picker.skipped
                )
    recorder.picker.check()
