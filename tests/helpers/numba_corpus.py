"""The kernels of numba-cuda's own tests and documentation examples, run in lockstep.

They are read from the installed package (BSD-2-Clause, NVIDIA Corporation), nothing of them is kept here. Each test
method runs as it is, with lockstep in the place of the GPU, and checks its kernels' results itself, against NumPy or
Python. A method passes, is refused (a named construct), or is left out because it asks for what no kernel does:
the generated code, the driver, another device.
"""

import ast
import builtins
import contextlib
import importlib.util
import io
import linecache
import sys
import types
import unittest
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from smemviz.engines.lockstep import launch
from smemviz.engines.lockstep.host.cuda import Cuda
from smemviz.errors import LaunchError, SmemvizError, UnsupportedError
from smemviz.frontends.numba.python_functions import function_of


def folder():
    """The folder of numba-cuda's tests, or None where it is not installed."""
    spec = importlib.util.find_spec("numba_cuda")
    if spec is None:
        return None
    found = Path(spec.submodule_search_locations[0]) / "numba/cuda/tests"
    return found if found.is_dir() else None


@dataclass
class Outcome:
    """How one test method ended: ``passed``, ``refused``, ``outside`` or ``wrong``; and why."""

    module: str
    method: str
    state: str
    why: str = ""
    kernels: tuple[str, ...] = ()


@dataclass
class _Launches:
    """The kernels that ran to their end."""

    ran: list[str] = field(default_factory=list)


# What a test meets that asks for more than a kernel's results: generated code, the driver, a refusal by the compiler.
_OUTSIDE = (
    "asks the compiled kernel",
    *("CudaSupportError", "DynamicLibNotFoundError", "CalledProcessError", "Skipped:"),
    *("Error not raised", "NumbaWarning not triggered", "is for kernels; this line runs on the host"),
)


def _nothing(*given, **named):
    """A decorator that leaves a test as it is, with or without arguments."""
    if len(given) == 1 and callable(given[0]) and not named:
        return given[0]
    return lambda test: test


class _Testing(types.ModuleType):
    """``numba.cuda.testing`` without what only a GPU has."""

    def __init__(self):
        super().__init__("numba.cuda.testing")
        self.unittest = unittest
        support = _quietly("numba.cuda.tests.support")
        self.TestCase = support.TestCase
        self.CUDATestCase = type("CUDATestCase", (support.TestCase,), {"FLOAT16_RTOL": np.finfo(np.float16).eps})
        self.ContextResettingTestCase = self.CUDATestCase

    def __getattr__(self, name):
        if name.startswith(("skip", "xfail")):
            return _nothing
        if name == "cc_X_or_above":
            return lambda major, minor: True
        if name.startswith("test_data") or name.endswith("_dir"):
            return folder() / "data"
        raise AttributeError(name)


def _left_out(*given, **named):
    raise unittest.SkipTest("about the compiler, not about a kernel's results")


class _Absent(types.ModuleType):
    """A package that only tests of the generated code use."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent(name)

    def __call__(self, *given, **named):
        return self


class _Package(types.ModuleType):
    """A module of numba.cuda: what lockstep has of it, else what the package has."""

    def __init__(self, name, first):
        super().__init__(name)
        self._first, self._name = first, name

    def __getattr__(self, name):
        try:
            return getattr(self._first, name)
        except (AttributeError, SmemvizError):
            real = _quietly(self._name)
            if hasattr(real, name):
                return getattr(real, name)
            raise AttributeError(name) from None


def _quietly(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


def load(path):
    """Execute a test module with lockstep as its ``numba.cuda``; returns its globals and the list of launches."""
    source, file = path.read_text(), str(path)
    tree = ast.parse(source)
    launches = _Launches()

    def start(kernel, configuration, args, place, changed):
        same = kernel.__code__.co_filename == file
        function = function_of(kernel, source, tree) if same else function_of(kernel)
        launch(function, configuration, args, place, space=cuda.addresses)
        launches.ran.append(f"{kernel.__name__}:{kernel.__code__.co_firstlineno}")

    cuda = Cuda(file, start)
    for name in ("CUSource", "cudadrv", "devicearray"):
        setattr(cuda, name, _Absent(name))
    for name in ("compile", "compile_ptx", "declare_device"):
        setattr(cuda, name, _left_out)
    testing = _Testing()

    def import_module(name, globals=None, locals=None, fromlist=(), level=0):
        if level:
            found = folder().joinpath(*([] if level == 2 else [path.parent.name]), *filter(None, name.split(".")))
            if found.with_suffix(".py").is_file():
                return _module(found.with_suffix(".py"), import_module)
            return types.SimpleNamespace(**{n: _module(found / f"{n}.py", import_module) for n in fromlist})
        if name == "numba" and fromlist:
            numba = _quietly("numba")
            return types.SimpleNamespace(**{n: cuda if n == "cuda" else getattr(numba, n) for n in fromlist})
        if name.startswith("numba.cuda.tests.") and fromlist:
            found = folder().joinpath(*name.split(".")[3:])
            if found.is_dir():  # modules of kernels beside the tests
                return types.SimpleNamespace(**{n: _module(found / f"{n}.py", import_module) for n in fromlist})
        if name == "numba.cuda.testing":
            return testing
        if name == "numba.cuda" and fromlist:
            return _Package(name, cuda)
        if name == "numba.cuda.random":
            return cuda.random
        if name in ("cffi", "filecheck"):
            return _Absent(name)
        if name.startswith("numba"):
            return _quietly(name)
        return builtins.__import__(name, globals, locals, fromlist or (), level)

    namespace = {
        "__name__": f"corpus_{path.parent.name}_{path.stem}",
        "__file__": file,
        "__builtins__": {**vars(builtins), "__import__": import_module, "exec": _remembered_exec},
    }
    sys.modules.setdefault(namespace["__name__"], types.ModuleType(namespace["__name__"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(tree, file, "exec", dont_inherit=True), namespace)
    return namespace, launches


def _remembered_exec(text, *scopes):
    """Execute a kernel that a test writes itself, so that its source can be found."""
    if isinstance(text, str):
        name = f"<kernel {len(linecache.cache)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        text = compile(text, name, "exec", dont_inherit=True)
    exec(text, *scopes)


def _module(path, import_module):
    module = types.ModuleType(f"corpus_{path.stem}")
    module.__file__ = str(path)
    vars(module)["__builtins__"] = {**vars(builtins), "__import__": import_module}
    exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), vars(module))
    return module


def outcomes(path, only=None):
    """Run the test methods of a module; yields an ``Outcome`` for each."""
    namespace, launches = load(path)
    for case in list(namespace.values()):
        if not (isinstance(case, type) and issubclass(case, unittest.TestCase)):
            continue
        if case.__module__ != namespace["__name__"]:
            continue
        for method in unittest.TestLoader().getTestCaseNames(case):
            if only is not None and not only(method):
                continue
            launches.ran.clear()
            state, why = _run(case, method)
            yield Outcome(path.stem, f"{case.__name__}.{method}", state, why, tuple(dict.fromkeys(launches.ran)))


def _run(case, method):
    result = _Result()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        case(method).run(result)
    return result.state, result.why


class _Result(unittest.TestResult):
    state, why = "passed", ""

    def note(self, error):
        kind, value, _ = error
        if self.state == "wrong":
            return
        said = f"{kind.__name__}: {(str(value).strip().splitlines() or [''])[0]}"
        if any(text in said for text in _OUTSIDE):
            self.state, self.why = "outside", said
        elif issubclass(kind, UnsupportedError | LaunchError):
            self.state, self.why = "refused", value.what
        else:
            self.state, self.why = "wrong", said

    def addError(self, test, error):
        self.note(error)

    def addFailure(self, test, error):
        self.note(error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.note(error)

    def addSkip(self, test, reason):
        self.state, self.why = "outside", reason
