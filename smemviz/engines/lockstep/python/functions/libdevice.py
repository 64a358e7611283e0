"""``numba.cuda.libdevice``: NVIDIA's library of device functions, computed to the last digits.

The fast functions are computed in full precision here. Numba has signed integers only, whatever the names say.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from smemviz.engines.lockstep.python.functions import intrinsics, mathematics
from smemviz.engines.lockstep.python.functions.rules import Rule, plain
from smemviz.engines.lockstep.values import special
from smemviz.engines.lockstep.values.special import DIRECTIONS, directed
from smemviz.engines.lockstep.values.typing import FLOAT16, FLOAT32, FLOAT64, INT32, INT64, Dtype, Value, cast

_INT16 = np.dtype(np.int16)
_UINT32, _UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)
_Function = Callable[..., Any]


def _sinpi(x: Any) -> Any:
    return np.sin(np.pi * np.fmod(x, 2)).astype(x.dtype)


def _cospi(x: Any) -> Any:
    return np.cos(np.pi * np.fmod(x, 2)).astype(x.dtype)


def _round(x: Any) -> Any:
    """Round halves away from zero."""
    return np.copysign(np.floor(np.abs(x) + (np.abs(x) != np.nextafter(0.5, 0, dtype=x.dtype)) * x.dtype.type(0.5)), x)


_NORMAL = statistics.NormalDist()


def _normal_inverse(p: float) -> float:
    if not 0 < p < 1:
        return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
    return _NORMAL.inv_cdf(p)


def _erf_inverse(y: float) -> float:
    if not -1 < y < 1:
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    if abs(y) > 0.5:  # close to 1 it loses digits
        return math.copysign(_erfc_inverse(1 - abs(y)), y)
    x = y * math.sqrt(math.pi) / 2
    for _ in range(6):  # of Newton
        x -= (math.erf(x) - y) * math.sqrt(math.pi) / 2 * math.exp(x * x)
    return x


def _erfc_inverse(y: float) -> float:
    if not 0 < y < 2:
        return {0.0: math.inf, 2.0: -math.inf}.get(y, math.nan)
    return 0.0 if y == 1 else -_NORMAL.inv_cdf(y / 2) / math.sqrt(2)


_bessel_j, _bessel_y = (np.frompyfunc(function, 2, 1) for function in (special.bessel_j, special.bessel_y))

_SAME = (
    *("cbrt", "ceil", "cos", "cosh", "exp", "exp2", "expm1", "fabs", "floor", "log", "log10", "log1p", "log2", "rint"),
    *("sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)
_UNARY: dict[str, _Function] = {
    **mathematics.INVERSE,
    **{name: getattr(np, name) for name in _SAME},
    **{name: mathematics.UNARY[f"math.{name}"] for name in ("erf", "erfc", "lgamma")},
    "cospi": _cospi,
    "erfcx": np.frompyfunc(special.scaled_erfc, 1, 1),
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "j0": partial(_bessel_j, 0),
    "j1": partial(_bessel_j, 1),
    "nearbyint": np.rint,
    "normcdf": mathematics.elementwise(lambda x: math.erfc(-x / math.sqrt(2)) / 2),
    "normcdfinv": mathematics.elementwise(_normal_inverse),
    "erfinv": mathematics.elementwise(_erf_inverse),
    "erfcinv": mathematics.elementwise(_erfc_inverse),
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "round": _round,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sinpi": _sinpi,
    "tgamma": mathematics.UNARY["math.gamma"],
    "y0": partial(_bessel_y, 0),
    "y1": partial(_bessel_y, 1),
}
_BINARY: dict[str, _Function] = {
    "atan2": np.arctan2,
    "fdim": lambda x, y: np.where(np.isnan(x) | np.isnan(y), np.nan, np.maximum(x - y, 0)).astype(x.dtype),
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
    rules |= {f"fast_{name}": _typed(_UNARY[base], FLOAT32, FLOAT32) for name, base in _FAST.items()}
    rules["fast_powf"] = _typed(np.power, FLOAT32, FLOAT32, FLOAT32)
    rules["fast_fdividef"] = _typed(np.divide, FLOAT32, FLOAT32, FLOAT32)
    for base, dtype in _both("fma"):
        rules[base] = _typed(intrinsics.fma, dtype, dtype, dtype, dtype)
        rules[_spelled_like("sincos", base)] = _typed(lambda x: (np.sin(x), np.cos(x)), (dtype, dtype), dtype)
        rules[_spelled_like("sincospi", base)] = _typed(lambda x: (_sinpi(x), _cospi(x)), (dtype, dtype), dtype)
        rules[_spelled_like("modf", base)] = _typed(np.modf, (dtype, dtype), dtype)
        rules[_spelled_like("frexp", base)] = _typed(np.frexp, (dtype, INT32), dtype)
        rules[_spelled_like("ldexp", base)] = _typed(np.ldexp, dtype, dtype, INT32)
        rules[_spelled_like("scalbn", base)] = _typed(np.ldexp, dtype, dtype, INT32)
        rules[_spelled_like("jn", base)] = _typed(_bessel_j, dtype, INT32, dtype)
        rules[_spelled_like("yn", base)] = _typed(_bessel_y, dtype, INT32, dtype)
        remquo = np.frompyfunc(special.remainder_and_quotient, 2, 2)
        rules[_spelled_like("remquo", base)] = _typed(remquo, (dtype, INT32), dtype, dtype)
        rules[_spelled_like("powi", base)] = _typed(lambda x, n: np.power(x.astype(np.float64), n), dtype, dtype, INT32)
        rules[_spelled_like("logb", base)] = _typed(lambda x: np.floor(np.log2(np.abs(x))), dtype, dtype)
        rules[_spelled_like("ilogb", base)] = _typed(lambda x: np.frexp(x)[1] - 1, INT32, dtype)
    rules["fast_sincosf"] = rules["sincosf"]
    return rules | _rounded_to_nearest() | _rounded_another_way()


def _spelled_like(name: str, like: str) -> str:
    return f"{name}f" if like.endswith("f") else name


def _rounded_to_nearest() -> dict[str, Rule]:
    arithmetic: dict[str, _Function] = {"add": np.add, "mul": np.multiply, "div": np.divide, "sub": np.subtract}
    rules = {f"f{name}_rn": _typed(function, FLOAT32, FLOAT32, FLOAT32) for name, function in arithmetic.items()}
    rules |= {f"d{name}_rn": _typed(function, FLOAT64, FLOAT64, FLOAT64) for name, function in arithmetic.items()}
    del rules["dsub_rn"]
    rules |= {"frcp_rn": _typed(np.reciprocal, FLOAT32, FLOAT32), "drcp_rn": _typed(np.reciprocal, FLOAT64, FLOAT64)}
    rules |= {"fsqrt_rn": _typed(np.sqrt, FLOAT32, FLOAT32), "dsqrt_rn": _typed(np.sqrt, FLOAT64, FLOAT64)}
    rules["frsqrt_rn"] = _typed(lambda x: 1 / np.sqrt(x.astype(np.float64)), FLOAT32, FLOAT32)
    rules["fmaf_rn"] = _typed(intrinsics.fma, FLOAT32, FLOAT32, FLOAT32, FLOAT32)
    rules["fma_rn"] = _typed(intrinsics.fma, FLOAT64, FLOAT64, FLOAT64, FLOAT64)
    rules["saturatef"] = _typed(lambda x: np.where(np.isnan(x), 0, np.clip(x, 0, 1)), FLOAT32, FLOAT32)
    return rules


def _rounded_another_way() -> dict[str, Rule]:
    """Return the functions that round down, up or toward zero."""
    nearest: dict[str, _Function] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    nearest |= {"rcp": np.reciprocal, "sqrt": np.sqrt, "fma": intrinsics.fma}
    rules: dict[str, Rule] = {}
    for way in DIRECTIONS:
        for name, function in nearest.items():
            count = {"rcp": 1, "sqrt": 1, "fma": 3}.get(name, 2)
            for prefix, dtype in (("f", FLOAT32), ("d", FLOAT64)):
                full = {"f": "fmaf", "d": "fma"}[prefix] if name == "fma" else f"{prefix}{name}"
                rules[f"{full}_{way}"] = _typed(partial(_one_way, name, way, function), dtype, *(dtype,) * count)
        for kind, dtype in _KINDS.items():
            for target, own in (("float", FLOAT32), ("double", FLOAT64)):
                if target == "float" or kind in ("ll", "ull"):
                    rules[f"{kind}2{target}_{way}"] = _typed(partial(_converted, way, own), own, dtype)
        rules[f"double2float_{way}"] = _typed(partial(_converted, way, FLOAT32), FLOAT32, FLOAT64)
    del rules["dsub_rd"], rules["dsub_ru"], rules["dsub_rz"]  # which numba-cuda has not, nor dsub_rn
    return rules


def _one_way(name: str, way: str, function: _Function, *x: Any) -> Any:
    return directed(name, way, function(*x), *x)


def _converted(way: str, dtype: Dtype, x: Any) -> Any:
    return directed("cvt", way, x.astype(dtype), x)


def _tests() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for name, function in (("isnan", np.isnan), ("isinf", np.isinf), ("signbit", np.signbit)):
        rules[f"{name}f"] = _typed(function, INT32, FLOAT32)
        rules[f"{name}d"] = _typed(function, INT32, FLOAT64)
    return rules | {"finitef": _typed(np.isfinite, INT32, FLOAT32), "isfinited": _typed(np.isfinite, INT32, FLOAT64)}


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
    rules |= {name: _typed(lambda x, to=to: x.view(to), to, own) for name, (own, to) in bits.items()}
    halves = {"double2hiint": 32, "double2loint": 0}
    rules |= {
        name: _typed(lambda x, by=by: (x.view(_UINT64) >> np.uint64(by)).astype(_UINT32), INT32, FLOAT64)
        for name, by in halves.items()
    }
    rules["hiloint2double"] = _typed(_double_of, FLOAT64, _UINT32, _UINT32)
    rules["half2float"] = _typed(lambda x: x.view(FLOAT16), FLOAT32, _INT16)
    rules["float2half_rn"] = _typed(lambda x: x.astype(FLOAT16).view(_INT16), _INT16, FLOAT32)
    for base, dtype in _both("llrint"):
        rules[base] = _typed(lambda x: _to_integer(np.rint, INT64, x), INT64, dtype)
        rules[_spelled_like("llround", base)] = _typed(lambda x: _to_integer(_round, INT64, x), INT64, dtype)
    return rules


def _double_of(high: Any, low: Any) -> Any:
    return ((high.astype(_UINT64) << np.uint64(32)) | low).view(FLOAT64)


def _signed(dtype: Dtype) -> Dtype:
    return np.dtype(f"i{dtype.itemsize}")


def _integers() -> dict[str, Rule]:
    rules = {
        "abs": _typed(np.abs, INT32, INT32),
        "llabs": _typed(np.abs, INT64, INT64),
        "brev": _typed(intrinsics.brev, INT32, _UINT32),
        "brevll": _typed(intrinsics.brev, INT64, _UINT64),
        "mul24": _typed(lambda x, y: _low24(x) * _low24(y), INT32, INT64, INT64),
        "umul24": _typed(lambda x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF), INT32, _UINT64, _UINT64),
        "mulhi": _typed(lambda x, y: (x * y) >> 32, INT32, INT64, INT64),
        "umulhi": _typed(lambda x, y: (_wide(x) * y) >> np.uint64(32), INT32, _UINT32, _UINT32),
        "mul64hi": _typed(lambda x, y: (_any_size(x) * y) >> 64, INT64, INT64, INT64),
        "umul64hi": _typed(lambda x, y: ((_any_size(x) * y) >> 64).astype(_UINT64), INT64, _UINT64, _UINT64),
        "byte_perm": _typed(_byte_perm, INT32, _UINT32, _UINT32, _UINT32),
        "hadd": _typed(lambda x, y: (x + y) >> 1, INT32, INT64, INT64),
        "rhadd": _typed(lambda x, y: (x + y + 1) >> 1, INT32, INT64, INT64),
        "uhadd": _typed(lambda x, y: (_wide(x) + y) >> np.uint64(1), INT32, _UINT32, _UINT32),
        "urhadd": _typed(lambda x, y: (_wide(x) + y + np.uint64(1)) >> np.uint64(1), INT32, _UINT32, _UINT32),
        "usad": _typed(lambda x, y, z: np.where(x > y, x - y, y - x) + z, INT32, _UINT32, _UINT32, _UINT32),
        "sad": _typed(lambda x, y, z: np.abs(x - y) + z, INT32, INT64, INT64, INT64),
    }
    for prefix, dtype in (("", INT32), ("u", _UINT32), ("ll", INT64), ("ull", _UINT64)):
        rules |= {f"{prefix}max": _typed(np.maximum, _signed(dtype), dtype, dtype)}
        rules |= {f"{prefix}min": _typed(np.minimum, _signed(dtype), dtype, dtype)}
    for name, function in (("popc", intrinsics.popc), ("clz", intrinsics.clz), ("ffs", intrinsics.ffs)):
        rules |= {name: _typed(function, INT32, INT32), f"{name}ll": _typed(function, INT32, INT64)}
    return rules


def _wide(x: Any) -> Any:
    return x.astype(_UINT64)


def _any_size(x: Any) -> Any:
    return x.astype(object)


def _byte_perm(x: Any, y: Any, selector: Any) -> Any:
    """Pick four of the eight bytes of two integers; with bit 3 of its number, a byte is filled with its highest bit."""
    both, result = _wide(x) | (_wide(y) << np.uint64(32)), np.zeros_like(_wide(x))
    for k in range(4):
        number = _wide(selector) >> np.uint64(4 * k)
        byte = (both >> (np.uint64(8) * (number & np.uint64(7)))) & np.uint64(0xFF)
        filled = np.where(byte & np.uint64(0x80), np.uint64(0xFF), np.uint64(0))
        result = result | (np.where(number & np.uint64(8), filled, byte) << np.uint64(8 * k))
    return result.astype(_UINT32)


def _low24(x: Any) -> Any:
    """Return the lower 24 bits as a signed number."""
    return ((x & 0xFFFFFF) ^ 0x800000) - 0x800000


CALLS: dict[str, Rule] = {
    f"cuda.libdevice.{name}": rule for name, rule in (_floats() | _tests() | _conversions() | _integers()).items()
}
