"""``numba.cuda.libdevice``: those of NVIDIA's device functions that kernels call, computed to the last digits.

The fast functions are computed in full precision here. Numba has signed integers only, whatever the names say.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python.functions import intrinsics, mathematics
from smemviz.engines.lockstep.python.functions.rules import Rule, plain
from smemviz.engines.lockstep.values.typing import FLOAT32, FLOAT64, INT32, INT64, Dtype, Value, cast

_UINT32, _UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)
_Function = Callable[..., Any]


def _round(x: Any) -> Any:
    """Round halves away from zero."""
    return np.copysign(np.floor(np.abs(x) + (np.abs(x) != np.nextafter(0.5, 0, dtype=x.dtype)) * x.dtype.type(0.5)), x)


_SAME = (
    *("cbrt", "ceil", "cos", "cosh", "exp", "exp2", "expm1", "fabs", "floor", "log", "log10", "log1p", "log2", "rint"),
    *("sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)
_UNARY: dict[str, _Function] = {
    **mathematics.INVERSE,
    **{name: getattr(np, name) for name in _SAME},
    **{name: mathematics.UNARY[f"math.{name}"] for name in ("erf", "erfc", "lgamma")},
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "nearbyint": np.rint,
    "round": _round,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tgamma": mathematics.UNARY["math.gamma"],
}
_BINARY: dict[str, _Function] = {
    "atan2": np.arctan2,
    **{name: getattr(np, name) for name in ("copysign", "fmax", "fmin", "fmod", "hypot", "nextafter")},
    "pow": np.power,
    "remainder": mathematics.BINARY["math.remainder"],
}
# Two digits more or less: fast-math's names for the same functions.
_FAST = {"cosf": "cos", "exp10f": "exp10", "expf": "exp", "log10f": "log10", "log2f": "log2", "logf": "log"}
_FAST |= {"sinf": "sin", "tanf": "tan"}


def _typed(function: _Function, result: Dtype | tuple[Dtype, Dtype], *dtypes: Dtype) -> Rule:
    """Return the rule of a function whose arguments and result, or two results, have these types."""

    def run(*x: Value) -> Value:
        found = function(*(np.asarray(cast(value, dtype)) for value, dtype in zip(x, dtypes, strict=True)))
        if isinstance(result, tuple):
            return tuple(np.asarray(part).astype(dtype)[()] for part, dtype in zip(found, result, strict=True))
        return np.asarray(found).astype(result)[()]

    return plain(run, len(dtypes))


def _both(name: str) -> tuple[tuple[str, Dtype], tuple[str, Dtype]]:
    return (name, FLOAT64), (f"{name}f", FLOAT32)


def _floats() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for base, function in _UNARY.items():
        rules |= {name: _typed(function, dtype, dtype) for name, dtype in _both(base)}
    for base, function in _BINARY.items():
        rules |= {name: _typed(function, dtype, dtype, dtype) for name, dtype in _both(base)}
    rules |= {name: _typed(intrinsics.fma, dtype, dtype, dtype, dtype) for name, dtype in _both("fma")}
    sincos: _Function = lambda x: (np.sin(x), np.cos(x))  # noqa: E731
    rules |= {name: _typed(sincos, (dtype, dtype), dtype) for name, dtype in _both("sincos")}
    rules |= {name: _typed(np.ldexp, dtype, dtype, INT32) for name, dtype in _both("ldexp")}
    rules |= {f"fast_{name}": _typed(_UNARY[base], FLOAT32, FLOAT32) for name, base in _FAST.items()}
    rules["fast_powf"] = _typed(np.power, FLOAT32, FLOAT32, FLOAT32)
    rules["fast_fdividef"] = _typed(np.divide, FLOAT32, FLOAT32, FLOAT32)
    rules["fast_sincosf"] = rules["sincosf"]
    rules["frsqrt_rn"] = _typed(lambda x: 1 / np.sqrt(x.astype(np.float64)), FLOAT32, FLOAT32)
    rules["saturatef"] = _typed(lambda x: np.where(np.isnan(x), 0, np.clip(x, 0, 1)), FLOAT32, FLOAT32)
    return rules


_ROUNDINGS: dict[str, _Function] = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}
_KINDS: dict[str, Dtype] = {"int": INT32, "uint": _UINT32, "ll": INT64, "ull": _UINT64}


def _to_integer(rounding: _Function, dtype: Dtype, x: Any) -> Value:
    return cast(rounding(x), dtype)


def _conversions() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for source, own in (("float", FLOAT32), ("double", FLOAT64)):
        for kind, dtype in _KINDS.items():
            rules |= {
                f"{source}2{kind}_{way}": _typed(partial(_to_integer, rounding, dtype), _signed(dtype), own)
                for way, rounding in _ROUNDINGS.items()
            }
            rules[f"{kind}2{source}_rn"] = _typed(lambda x: x, own, dtype)
    rules["double2float_rn"] = _typed(lambda x: x, FLOAT32, FLOAT64)
    bits = {"float_as_int": (FLOAT32, INT32), "int_as_float": (INT32, FLOAT32)}
    bits |= {"double_as_longlong": (FLOAT64, INT64), "longlong_as_double": (INT64, FLOAT64)}
    return rules | {name: _typed(lambda x, to=to: x.view(to), to, own) for name, (own, to) in bits.items()}


def _signed(dtype: Dtype) -> Dtype:
    return np.dtype(f"i{dtype.itemsize}")


def _integers() -> dict[str, Rule]:
    wide: _Function = lambda x, y: (x.astype(_UINT64) * y) >> np.uint64(32)  # noqa: E731
    rules = {
        "abs": _typed(np.abs, INT32, INT32),
        "llabs": _typed(np.abs, INT64, INT64),
        "brev": _typed(intrinsics.brev, INT32, _UINT32),
        "brevll": _typed(intrinsics.brev, INT64, _UINT64),
        "mulhi": _typed(lambda x, y: (x * y) >> 32, INT32, INT64, INT64),
        "umulhi": _typed(wide, INT32, _UINT32, _UINT32),
    }
    for prefix, dtype in (("", INT32), ("u", _UINT32), ("ll", INT64), ("ull", _UINT64)):
        rules |= {f"{prefix}max": _typed(np.maximum, _signed(dtype), dtype, dtype)}
        rules |= {f"{prefix}min": _typed(np.minimum, _signed(dtype), dtype, dtype)}
    for name, function in (("popc", intrinsics.popc), ("clz", intrinsics.clz), ("ffs", intrinsics.ffs)):
        rules |= {name: _typed(function, INT32, INT32), f"{name}ll": _typed(function, INT32, INT64)}
    return rules


CALLS: dict[str, Rule] = {
    f"cuda.libdevice.{name}": rule for name, rule in (_floats() | _conversions() | _integers()).items()
}
