"""Modules of which a part is known; asking for the rest is one line that names it."""

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

from smemviz.engines.launch_shape import launch_place
from smemviz.engines.process import replaced
from smemviz.errors import UnsupportedError
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.messages import english

Rule = Callable[[str], Any]  # finds what a module has by a rule; returns None for what it has not


def unknown(name: str) -> UnsupportedError:
    """Return the error for something of a module that is not stood in for."""
    return UnsupportedError(*launch_place(""), _unknown(name))


def _unknown(name: str) -> str:
    if name.startswith(("google.colab.", "IPython.")):
        return english("{name} is known in a notebook only; leave it out", name=name)
    if name.startswith("pycuda."):
        return english("{name} is not known where PyCUDA is not installed; run it on a GPU with PyCUDA", name=name)
    return english("{name} is not known without a GPU; run it on one", name=name)


def nothing(*_: Any, **__: Any) -> None:
    """Do nothing: every call is done when it returns."""


class Module(ModuleType):
    """A module, or one in it, of which a part is known."""

    def __init__(self, name: str, script: PythonProgram, known: dict[str, Any], rule: Rule = lambda name: None) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__dict__.update(known)
        self._script = script
        self._rule = rule

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        attribute = self._rule(name)
        if attribute is not None:
            return attribute
        file, line = launch_place("")
        what = _unknown(f"{self.__name__}.{name}")
        raise UnsupportedError(file, line, what) if file == self._script.file else AttributeError(what)


class Known:
    """An object of which a part is known; ``_of`` is its module."""

    _of = ""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise unknown(f"{self._of}{type(self).__name__.lstrip('_')}.{name}")


class Nothing(Known):
    """What there is no need of where every call is done when it returns."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def use(self) -> Any:
        return self

    synchronize = nothing


def tree(modules: Iterable[Module]) -> dict[str, ModuleType]:
    """Return modules by name, each an attribute of the one around it."""
    by_name = {module.__name__: module for module in modules}
    for name, module in by_name.items():
        outer, _, last = name.rpartition(".")
        if outer in by_name:
            setattr(by_name[outer], last, module)
    return dict(by_name)


class _Finder:
    """Says of a module that is missing from a package what to do."""

    def __init__(self, packages: Sequence[str], instead: Callable[[str], str]) -> None:
        self._packages = packages
        self._instead = instead

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if _is_of(name, self._packages):
            raise ModuleNotFoundError(self._instead(name), name=name)


@contextmanager
def imported(modules: dict[str, ModuleType], packages: Sequence[str]) -> Iterator[None]:
    """Let modules be imported in the place of ``packages`` while this lasts; nothing else of them is found."""
    before = {name: module for name, module in sys.modules.items() if _is_of(name, packages)}
    with ExitStack() as stack:
        for package in packages:
            outer, _, last = package.rpartition(".")
            if outer:
                stack.enter_context(replaced(stack.enter_context(_package(outer)), {last: modules[package]}))
        for name in before:
            del sys.modules[name]
        sys.modules.update(modules)
        try:
            with refused(packages, _unknown):
                yield
        finally:
            for name in [name for name in sys.modules if _is_of(name, packages)]:
                del sys.modules[name]
            sys.modules.update(before)


@contextmanager
def refused(packages: Sequence[str], instead: Callable[[str], str]) -> Iterator[None]:
    """Say what to do, while this lasts, of packages that are imported."""
    finder: Any = _Finder(packages, instead)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _is_of(name: str, packages: Sequence[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


@contextmanager
def _package(name: str) -> Iterator[ModuleType]:
    """Give a package that holds nothing itself, made while this lasts where nothing of it is installed."""
    try:
        module, is_made = importlib.import_module(name), False
    except ModuleNotFoundError:
        module, is_made = ModuleType(name), True
        module.__path__ = []
        sys.modules[name] = module
    yield module
    if is_made:
        sys.modules.pop(name, None)
