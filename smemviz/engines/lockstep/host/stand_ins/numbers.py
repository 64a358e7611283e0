"""What CuPy has of NumPy: all of it, but for what is named here, with arrays of the device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from smemviz.engines.lockstep.host.stand_ins.arrays import ndarray, on_device
from smemviz.engines.lockstep.host.stand_ins.modules import Rule

_NUMPY_ONLY = """
ScalarType asmatrix block bmat busday_count busday_offset busdaycalendar bytes_ char character clongdouble complex256
core ctypeslib datetime64 datetime_as_string datetime_data einsum_path emath f2py flexible float128 frompyfunc
fromregex geomspace get_include getbufsize geterr geterrcall histogram_bin_edges info insert is_busday isnat lib
little_endian longdouble ma matrix matvec memmap nanpercentile nanquantile ndenumerate nditer nested_iters object_
polyder polydiv polyint rec recarray record sctypeDict setbufsize seterr seterrcall show_runtime spacing str_ strings
test timedelta64 typecodes typing unstack vecdot vecmat void
"""
_NOT_IN_CUPY = frozenset(_NUMPY_ONLY.split())


def of_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy whose results are on the device."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return on_device(function(*args, **kwargs))

    if isinstance(function, np.ufunc):
        for name in ("reduce", "accumulate", "reduceat", "outer", "at"):
            setattr(called, name, of_numpy(getattr(function, name)))
    return called


def copied_to_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy that copies what comes from the host."""

    def called(a: Any, *args: Any, **kwargs: Any) -> Any:
        for name in ("blocking", "stream"):
            kwargs.pop(name, None)
        return on_device(function(a if isinstance(a, ndarray) else np.array(a), *args, **kwargs))

    return called


def rule_of(module: Any) -> Rule:
    """Return the rule that finds what a module of CuPy's has of NumPy's."""

    def rule(name: str) -> Any:
        if name in _NOT_IN_CUPY:
            raise AttributeError(f"module 'cupy' has no attribute {name!r}")
        attribute = getattr(module, name, None)
        if isinstance(attribute, ModuleType):
            return None
        return of_numpy(attribute) if callable(attribute) and not isinstance(attribute, type) else attribute

    return rule


class Drawing:
    """Random numbers as CuPy draws them, other ones than CuPy's: the same for the same seed."""

    def __init__(self, drawing: Any) -> None:
        self._drawing = drawing

    def __getattr__(self, name: str) -> Any:
        draw = getattr(self._drawing, name)  # NumPy says what it has not
        if not callable(draw):
            return draw

        @functools.wraps(draw)
        def drawn(*args: Any, **kwargs: Any) -> Any:
            if args and isinstance(args[-1], type | np.dtype | str):
                *rest, kwargs["dtype"] = args
                args = tuple(rest)
            dtype = kwargs.pop("dtype", None)
            if name in ("randint", "integers"):
                return on_device(draw(*args, dtype=dtype or int, **kwargs))
            array = on_device(draw(*args, **kwargs))
            return array.astype(dtype) if dtype is not None and array is not None else array

        return drawn


def random_rule(name: str) -> Any:
    """Find what ``cupy.random`` has."""
    if name == "default_rng":
        return lambda seed=None: Drawing(np.random.default_rng(0 if seed is None else seed))
    if name == "RandomState":
        return lambda seed=None, method=None: Drawing(np.random.RandomState(0 if seed is None else seed))
    return getattr(_drawing, name) if hasattr(np.random.RandomState, name) and not name.startswith("_") else None


_drawing = Drawing(np.random.RandomState(0))


def begin() -> None:
    """Draw from the beginning again."""
    _drawing.seed(0)


def testing_rule(name: str) -> Any:
    """Find what ``cupy.testing`` has."""
    return getattr(np.testing, name, None) if name.startswith("assert_") else None
