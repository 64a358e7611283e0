"""The functions a kernel may call: their types against numba-cuda's templates, their values against Python's."""

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.lockstep_text import result

from smemviz.engines.lockstep.python.functions import intrinsics, mathematics
from smemviz.engines.lockstep.python.functions.atomics import ATOMICS, in_turn
from smemviz.engines.lockstep.python.functions.intrinsics import brev, clz, ffs, fma, popc, selp
from smemviz.engines.lockstep.python.functions.names import CALLS
from smemviz.engines.lockstep.values.operators import NoRuleError

NUMBERS = ["bool", "int8", "int32", "int64", "uint8", "uint32", "uint64", "float16", "float32", "float64"]


def numba_type(name):
    from numba.cuda import types

    return types.boolean if name == "bool" else getattr(types, name)


def name_of(found):
    return tuple(x.dtype.name for x in found) if isinstance(found, tuple) else np.asarray(found).dtype.name


def test_types_of_functions_of_one_number_are_those_of_numba_cuda(context):
    for name in mathematics.UNARY:
        function = getattr(math, name.removeprefix("math."))
        for dtype in NUMBERS:
            wanted = context.resolve_function_type(function, (numba_type(dtype),), {}).return_type
            wanted = tuple(map(str, wanted)) if hasattr(wanted, "types") else str(wanted)
            if (name, dtype) == ("math.tanh", "float16"):  # an overload, which Numba compiles where there is a GPU
                wanted = "float16"
            with np.errstate(all="ignore"):
                found = mathematics.UNARY[name](np.ones(2, dtype))
            assert name_of(found) == wanted, dtype


def test_types_of_functions_of_two_floats_are_those_of_numba_cuda(context):
    for name in [name for name in mathematics.BINARY if name not in ("math.ldexp", "math.pow")]:
        function = getattr(math, name.removeprefix("math."))
        for one in ("float32", "float64"):
            for other in ("float32", "float64"):
                types = (numba_type(one), numba_type(other))
                wanted = str(context.resolve_function_type(function, types, {}).return_type)
                assert name_of(mathematics.BINARY[name](np.ones(2, one), np.ones(2, other))) == wanted


def test_values_of_functions_of_one_number_are_those_of_python():
    for name in mathematics.UNARY:
        function = getattr(math, name.removeprefix("math."))
        values = np.array([-2.5, -0.75, 0.25, 0.5, 1.5, 3.0])
        with np.errstate(all="ignore"):
            found = mathematics.UNARY[name](values)
        for k, value in enumerate(values.tolist()):
            try:
                wanted = function(value)
            except ValueError:
                wanted = math.nan
            got = tuple(x[k] for x in found) if isinstance(found, tuple) else found[k]
            assert got == pytest.approx(wanted, rel=1e-14, nan_ok=True), value


def test_values_of_functions_of_two_numbers_are_those_of_python():
    for name in mathematics.BINARY:
        function = getattr(math, name.removeprefix("math."))
        ones, others = np.array([-2.5, 0.25, 1.0, 3.0]), np.array([2.0, 3.0, -4.0, 5.0])
        found = mathematics.BINARY[name](ones, others.astype(np.int32) if name == "math.ldexp" else others)
        for one, other, got in zip(ones.tolist(), others.tolist(), found, strict=True):
            assert got == pytest.approx(function(one, int(other) if name == "math.ldexp" else other), rel=1e-14)


def test_poles_are_those_of_the_device():
    """As the H200 gives them; Python raises an exception there."""
    for name, value, wanted in [
        ("math.gamma", 0.0, math.inf),
        ("math.gamma", -0.0, -math.inf),
        ("math.lgamma", -2.0, math.inf),
        ("math.gamma", 200.0, math.inf),
        ("math.log", 0.0, -math.inf),
        ("math.sqrt", -1.0, math.nan),
    ]:
        with np.errstate(all="ignore"):
            assert mathematics.UNARY[name](np.array([value]))[0] == pytest.approx(wanted, nan_ok=True)


def test_what_an_expression_is_worth():
    for expression, dtype, wanted in [
        ("round(2.5)", "int64", 2),
        ("round(2.345, 2)", "float64", 2.35),
        ("divmod(-7, 2)[0] * 10 + divmod(-7, 2)[1]", "int64", -39),
        ("min(3, 2.5, 4)", "float64", 2.5),
        ("max((1, 7, 3))", "int64", 7),
        ("pow(3, 4)", "int64", 81),
        ("abs(-3.5)", "float64", 3.5),
        ("abs(3 + 4j)", "float64", 5),
        ("complex(1, 2).imag", "float64", 2),
        ("(complex64(3 + 4j) * complex64(1j)).real", "float32", -4),
        (
            "len(out) + out.size + out.ndim + out.nbytes + out.itemsize + out.strides[0]",
            "int64",
            32 + 32 + 1 + 256 + 16,
        ),
        ("int(-2.9)", "int64", -2),
        ("math.floor(2.5)", "float64", 2),
        ("float32(1) / float32(3)", "float32", np.float32(1) / np.float32(3)),
        ("np.float32(0.1) + np.float32(0.2)", "float32", np.float32(0.1) + np.float32(0.2)),
        ("float32(0.1) * 1", "float64", float(np.float32(0.1))),
        ("float16(2049)", "float16", 2048),
        ("math.tanh(float16(2))", "float64", 0.9638671875),  # in half precision, as an H200 gives it
        ("bool(0.5) + boolean(0)", "int64", 1),
        ("uint8(300)", "uint8", 44),
        ("(1, 2, 3)[cuda.threadIdx.x % 3 * 0 + 1]", "int64", 2),
        ("(1, 2, 3)[-1] + (4, 5)[1:][0]", "int64", 8),
        ("cuda.laneid + cuda.warpsize - cuda.laneid", "int64", 32),
        ("cuda.gridsize(1) + cuda.gridDim.y + cuda.blockDim.x", "int64", 65),
        ("math.pi", "float64", math.pi),
    ]:
        found = result(f"out[cuda.threadIdx.x] = {expression}", dtype)

        np.testing.assert_array_equal(found, np.full(32, wanted, dtype))


def test_atomics_return_what_was_there_thread_by_thread():
    for name, operands, last, old in [
        ("add", 5, 160, [5 * t for t in range(32)]),
        ("sub", 2, -64, [-2 * t for t in range(32)]),
        ("max", "t ^ 5", 31, None),
        ("min", "-t", -31, None),
        ("and_", "t", 0, None),
        ("or_", "t", 31, None),
        ("xor", "t", 0, None),
        ("exch", "t", 31, [0, *range(31)]),
    ]:
        found = result(
            f"""
        held = cuda.shared.array(1, int32)
        t = cuda.threadIdx.x
        held[0] = 0
        cuda.syncthreads()
        out[t] = cuda.atomic.{name}(held, 0, {operands})
        cuda.syncthreads()
        out[t] = out[t] * 1000 + held[0]
        """
        )

        assert (found % 1000 == last % 1000).all()
        if old is not None:
            assert ((found - last) // 1000).tolist() == old


def test_increments_wrap_at_their_operand_swaps_change_what_they_expect_and_floats_add_in_order():
    total = np.add.accumulate(np.full(32, 0.1, np.float32), dtype=np.float32)[-1]
    for dtype, expression, wanted in [
        ("uint32", "cuda.atomic.inc(s, 0, 4) * 10 + cuda.atomic.dec(s, 1, 2)",
            [10 * (t % 5) + (0, 2, 1)[t % 3] for t in range(32)]),
        ("int32", "cuda.atomic.cas(s, 0, t, t + 1) + 100 * cuda.atomic.compare_and_swap(s, 32, 7)",
            [t + (3200 if t == 0 else 700) for t in range(32)]),
        ("float32", "cuda.atomic.add(s, 0, 0.1) * 0 + s[1]", [0] * 32),
    ]:  # fmt: skip
        text = f"s = cuda.shared.array(2, {dtype})\ns[0] = s[1] = 0\ncuda.syncthreads()\nt = cuda.threadIdx.x\n"
        assert result(f"{text}out[t] = {expression}").tolist() == wanted
    text = "s = cuda.shared.array(1, float32)\ns[0] = 0\ncuda.syncthreads()\ncuda.atomic.add(s, 0, 0.1)\n"
    assert (result(f"{text}cuda.syncthreads()\nout[cuda.threadIdx.x] = s[0]", "float32") == total).all()


def test_threads_update_elements_one_after_the_other():
    for places in [1, 3, 50]:
        for name, dtype in [(name, dtype) for name, rule in ATOMICS.items() for dtype in rule.dtypes]:
            rng = np.random.default_rng(0)
            at, operands = rng.integers(0, places, 60), rng.integers(0, 2**31, 60).astype(dtype)
            if operands.dtype.kind == "f":
                operands /= 7
            held, expected, old = np.full(places, 5, dtype), np.full(places, 5, dtype), []
            with np.errstate(over="ignore"):
                for place, operand in zip(at, operands, strict=True):
                    old.append(expected[place])
                    expected[place] = ATOMICS[name].update(expected[place], operand)

            found = in_turn(ATOMICS[name].update, held, at, operands)

            assert found.dtype == dtype
            assert found.tolist() == old
            assert held.tolist() == expected.tolist()


def test_every_rule_is_a_name_of_cuda_numpy_or_python():
    assert {name.split(".")[0] for name in CALLS} == {"builtins", "cmath", "cuda", "math", "numpy"}


def test_functions_of_numpy_are_those_that_numba_compiles_for_cuda():
    from numba.cuda.ufuncs import ufunc_db

    ours = {name for name in CALLS if name.startswith("numpy.")}
    assert ours == {f"numpy.{one.__name__}" for one in ufunc_db()}


def test_the_power_of_an_integer_to_a_negative_one_is_numbas():
    """As Numba's own code has it; NumPy refuses. Threads that do not get there have negative powers as well."""
    for base, power in [(2, 0), (1, 1), (-1, -1), (0, -(1 << 63))]:
        got = result(f"t = cuda.threadIdx.x\nif t > 30:\n    out[t] = int64({base}) ** (30 - t)")
        assert (got[31], got[:31].any()) == (power, False)


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def resolved(context, name, *dtypes):
    from numba.cuda import cudadecl, types

    wanted = [types.boolean if d == "bool" else getattr(types, d) for d in dtypes]
    return str(context.resolve_function_type(types.Function(getattr(cudadecl, name)), wanted, {}).return_type)


def test_types_are_those_of_numba_cuda(context):
    for name in ["popc", "clz", "ffs", "brev"]:
        for dtype in ["bool", *INTEGERS]:
            found = intrinsics.CALLS[f"cuda.{name}"].run(None, None, [np.ones(3, dtype)])
            assert found.dtype.name == resolved(context, f"Cuda_{name}", dtype), dtype


def test_types_of_floats_are_those_of_numba_cuda(context):
    for dtype in ["bool", *INTEGERS, "float16", "float32", "float64"]:
        one, other = np.ones(3, dtype), np.ones(3, "float32")
        assert fma(one, other, other).dtype.name == resolved(context, "Cuda_fma", dtype, "float32", "float32")
        cube = intrinsics.CALLS["cuda.cbrt"].run(None, None, [one])
        assert cube.dtype.name == resolved(context, "Cuda_cbrt", dtype), dtype


def numbers(dtype):
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return sorted({0, 1, 2, 5, 100, low, high, high // 3, high - 1, max(low, -2)})


def test_bits_are_those_of_the_number():
    for dtype in INTEGERS:
        width = 8 * np.dtype(dtype).itemsize
        for value in numbers(dtype):
            bits = value % (1 << width)
            given = np.array([value], dtype)
            assert popc(given)[0] == bits.bit_count()
            assert clz(given)[0] == width - bits.bit_length()
            assert ffs(given)[0] == (bits & -bits).bit_length()


def test_bits_reversed_are_64_only_of_an_unsigned_64_bit_integer():
    assert brev(np.uint64(1)) == 1 << 63
    assert brev(np.array([1, 0x30F0F0F0], np.uint32)).tolist() == [1 << 31, 0x0F0F0F0C]
    assert brev(1 << 32) == 0
    assert brev(3) == 0xC0000000


def test_fma_rounds_once():
    """Against exact fractions, for numbers made to be halfway between two floats and for random ones."""
    for dtype in ["float32", "float64"]:
        random = np.random.default_rng(5)
        one, other = (random.normal(size=3000).astype(dtype) for _ in range(2))
        scale = np.exp2(random.integers(-60, 60, 3000)).astype(dtype)
        third = np.where(random.random(3000) < 0.5, -(one * other), random.normal(size=3000).astype(dtype) * scale)
        found = fma(one, other, third.astype(dtype))
        exact = [
            Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
            for a, b, c in zip(one, other, third, strict=True)
        ]
        assert found.dtype.name == dtype
        assert found.tolist() == [rounded(e, dtype) for e in exact]


def rounded(exact, dtype):
    """The nearest float, ties to even."""
    near = np.dtype(dtype).type(float(exact))
    around = [np.nextafter(near, -np.inf, dtype=dtype), near, np.nextafter(near, np.inf, dtype=dtype)]
    width = np.dtype(f"i{near.itemsize}")
    return float(min(around, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(width)) & 1)))


def test_fma_of_infinities():
    inf, nan = np.inf, np.nan
    with np.errstate(all="ignore"):  # as it is while a launch runs
        assert fma(inf, 2.0, 1.0) == inf
        assert np.isnan(fma(inf, 1.0, -inf))
        assert np.isnan(fma(nan, 1.0, 1.0))
        assert fma(1e308, 10.0, 0.0) == inf


def test_selp_takes_two_of_one_type():
    assert selp(np.array([True, False]), 1, 2).tolist() == [1, 2]
    assert selp(0, np.float32(1), np.float32(2)) == 2
    with pytest.raises(NoRuleError, match=r"cuda\.selp of int64 and float64"):
        selp(True, 1, 2.0)
