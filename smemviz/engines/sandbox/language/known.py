"""What text from a browser may name and call: modules, functions and methods, each written down here.

Nothing is looked up on an object: what is not in a table does not exist for the text. Functions of NumPy get their
arguments through a gate that lets only numbers, numeric arrays, dtypes and a few words pass, and the bytes of their
result are worked out before they are called.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from smemviz.engines.lockstep.memory.device_array import DeviceArray
from smemviz.engines.sandbox.language.sizes import (
    KnownFunction,
    Sizer,
    count,
    elements,
    of_arange,
    of_bincount,
    of_eye,
    of_histogram,
    of_linspace,
    of_outer,
    of_pad,
    of_repeat,
    of_shape,
    of_sizes,
    of_tile,
    product,
    sized,
    together,
)
from smemviz.messages import english
from smemviz.recordings.vocabulary import DTYPES

_WORDS = {"C", "F", "A", "K", "constant", "edge", "left", "right", "floor", "wrap", "clip", "raise"}
_PYTHON_TYPES = (bool, int, float, complex)


class NotAllowedError(Exception):
    """A value that text may not hold or hand on; the argument says which."""


def admitted(value: Any) -> Any:
    """Return a value that came out of a library if text may hold it.

    Raises:
        NotAllowedError: for arrays of anything but numbers, and for objects of other kinds.
    """
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind not in "biufc":
            raise NotAllowedError(english("an array of {dtype}", dtype=value.dtype))
        return value
    if value is None or isinstance(value, bool | int | float | complex | str | range | DeviceArray):
        return value
    if isinstance(value, np.dtype):
        if value.kind not in "biufc":
            raise NotAllowedError(english("a dtype of {dtype}", dtype=value))
        return value
    if isinstance(value, tuple | list):
        return type(value)(admitted(item) for item in value)
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return value
    raise NotAllowedError(f"a {type(value).__name__}")


def handed(value: Any) -> Any:
    """Return a value of the text as a function of NumPy may get it.

    Raises:
        NotAllowedError: for text that names no dtype and no order, and for anything that is no data.
    """
    if isinstance(value, KnownFunction) and value.call in _PYTHON_TYPES:
        return value.call
    if isinstance(value, str):
        if value in DTYPES:
            return np.dtype(DTYPES[value])
        if value in _WORDS:
            return value
        raise NotAllowedError(english("the text {text}", text=repr(value[:20])))
    if isinstance(value, type):
        if issubclass(value, np.generic) and np.dtype(value).kind in "biufc":
            return value
        raise NotAllowedError(value.__name__)
    if isinstance(value, tuple | list):
        return type(value)(handed(item) for item in value)
    if isinstance(value, slice) or value is Ellipsis:
        return value
    return admitted(value)


def _plain(module: ModuleType, names: str, size: Sizer) -> dict[str, KnownFunction]:
    return {name: KnownFunction(name, getattr(module, name), size, module.__name__) for name in names.split()}


# -- NumPy

_NUMPY: dict[str, Any] = {
    **_plain(np, "zeros ones full", of_shape),
    **_plain(np, "arange", of_arange),
    **_plain(np, "linspace", of_linspace),
    **_plain(np, "eye identity", of_eye),
    **_plain(np, "tile", of_tile),
    **_plain(np, "pad", of_pad),
    **_plain(np, "repeat", of_repeat),
    **_plain(np, "outer", of_outer),
    **_plain(np, "dot matmul", product),
    **_plain(np, "bincount", of_bincount),
    **_plain(np, "histogram", of_histogram),
    **_plain(
        np,
        "zeros_like ones_like full_like array asarray ascontiguousarray asfortranarray copy "
        "abs absolute sqrt square exp log log2 log10 sin cos tan tanh arctan floor ceil rint round sign power "
        "add subtract multiply divide floor_divide mod minimum maximum where clip isnan isfinite isclose "
        "bitwise_and bitwise_or bitwise_xor left_shift right_shift logical_and logical_or logical_not "
        "equal not_equal less less_equal greater greater_equal "
        "sum prod min max mean std var any all argmin argmax cumsum cumprod count_nonzero allclose array_equal "
        "sort argsort unique transpose reshape ravel concatenate stack vstack hstack flip fliplr flipud roll squeeze "
        "expand_dims diag trace triu tril nonzero searchsorted diff median",
        together,
    ),
    **{name: getattr(np, name) for name in ("pi", "e", "inf", "nan", "newaxis")},
    **{
        name: getattr(np, name)
        for name in (
            *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp", "uintp"),
            *("float16", "float32", "float64", "complex64", "complex128", "bool_", "intc", "single", "double"),
        )
    },
    # What lies in memory that nobody wrote is this process's own.
    "empty": KnownFunction("empty", np.zeros, of_shape, "numpy"),
    "empty_like": KnownFunction("empty_like", np.zeros_like, together, "numpy"),
    "dtype": KnownFunction("dtype", np.dtype, lambda *arguments: 1, "numpy"),
}
_TESTING = _plain(np.testing, "assert_array_equal assert_allclose assert_equal assert_almost_equal", together)

# -- math, and Python's own

MATH = {
    **_plain(
        math,
        "sqrt exp log log2 log10 sin cos tan asin acos atan atan2 sinh cosh tanh floor ceil trunc fabs gcd hypot pow "
        "copysign isnan isinf isfinite erf degrees radians fmod",
        lambda *arguments: 1,
    ),
    **{name: getattr(math, name) for name in ("pi", "e", "inf", "nan", "tau")},
}


def _round(value: Any, digits: int | None = None) -> Any:
    if digits is not None and abs(digits) > 100:
        raise ValueError("round to more than 100 digits")
    return round(value, digits)


_SMALL: dict[str, Callable[..., Any]] = {"int": int, "float": float, "bool": bool, "complex": complex, "range": range}
_SMALL |= {"abs": abs, "len": len, "round": _round, "divmod": divmod}
_LISTS: dict[str, Callable[..., Any]] = {"tuple": tuple, "list": list, "sorted": sorted, "min": min, "max": max}
_LISTS |= {
    "sum": sum,
    "any": any,
    "all": all,
    "enumerate": lambda items, start=0: list(enumerate(items, start)),
    "zip": lambda *several: list(zip(*several, strict=False)),
    "reversed": lambda items: list(reversed(items)),
}
BUILTINS = {name: KnownFunction(name, function, lambda *arguments: 1, "builtins") for name, function in _SMALL.items()}
BUILTINS |= {
    name: KnownFunction(name, function, lambda *arguments: elements(arguments), "builtins")
    for name, function in _LISTS.items()
}

# -- methods, by the kind of what they are called on


_NO_GROWTH = (
    "sum prod min max mean std var any all argmin argmax argsort copy astype reshape ravel flatten transpose fill sort "
    "item cumsum round clip squeeze swapaxes tolist view nonzero"
)
ARRAY_METHODS: Mapping[str, Sizer] = {
    **dict.fromkeys(_NO_GROWTH.split(), together),
    "repeat": of_repeat,
    "dot": product,
}
ARRAY_VALUES = frozenset(["shape", "dtype", "size", "ndim", "nbytes", "itemsize", "T", "real", "imag", "strides"])

_DISTRIBUTIONS: dict[str, Sizer] = {
    "random": sized(),
    "integers": sized("low", "high"),
    "standard_normal": sized(),
    "normal": sized("loc", "scale"),
    "uniform": sized("low", "high"),
    "poisson": sized("lam"),
    "geometric": sized("p"),
    "exponential": sized("scale"),
    "permutation": lambda *arguments: elements(arguments) if elements(arguments) > 1 else count(arguments[0]),
    "choice": lambda *arguments, **options: elements(arguments[:1]) * 8 + sized("a")(*arguments, **options),
    "shuffle": lambda *arguments: 1,
}
_LEGACY: dict[str, Sizer] = {
    **{name: size for name, size in _DISTRIBUTIONS.items() if name != "integers"},
    "seed": lambda *arguments: 1,
    "rand": of_sizes,
    "randn": of_sizes,
    "randint": sized("low", "high"),
    "random_sample": sized(),
}
DEVICE_METHODS = frozenset(
    ["copy_to_host", "copy_to_device", "reshape", "ravel", "view", "transpose", "is_c_contiguous", "is_f_contiguous"]
)
DEVICE_VALUES = frozenset(["shape", "dtype", "size", "ndim", "nbytes", "itemsize", "T", "strides"])


def methods_of(value: Any) -> Mapping[str, Sizer]:
    """Return the methods that text may call on a value, each with what gives the elements of its result."""
    if isinstance(value, np.ndarray | np.generic):
        return ARRAY_METHODS
    if isinstance(value, np.random.Generator):
        return _DISTRIBUTIONS
    if isinstance(value, np.random.RandomState):
        return _LEGACY
    if isinstance(value, DeviceArray):
        return dict.fromkeys(DEVICE_METHODS, together)
    if isinstance(value, list):
        return {"append": lambda *arguments: elements(value) + 1, "extend": lambda items: elements([value, items])}
    return {}


def values_of(value: Any) -> Iterable[str]:
    """Return the attributes of a value that text may read."""
    if isinstance(value, np.ndarray | np.generic):
        return ARRAY_VALUES
    if isinstance(value, DeviceArray):
        return DEVICE_VALUES
    if isinstance(value, np.dtype):
        return ("itemsize", "name", "kind")
    return ("real", "imag") if isinstance(value, int | float | complex) else ()


def module(name: str, members: Mapping[str, Any]) -> ModuleType:
    """Return a module that has these members and nothing else."""
    module = ModuleType(name)
    vars(module).clear()
    vars(module).update({"__name__": name, **members})
    return module


def numpy_module() -> ModuleType:
    """Return what a text gets as ``numpy``; its random state is its own."""
    state = np.random.RandomState(0)
    random = {name: KnownFunction(name, getattr(state, name), size, "numpy.random") for name, size in _LEGACY.items()}
    random["default_rng"] = KnownFunction("default_rng", np.random.default_rng, lambda *arguments: 1, "numpy.random")
    return module(
        "numpy", {**_NUMPY, "random": module("numpy.random", random), "testing": module("numpy.testing", _TESTING)}
    )
