"""Functions of numbers in the text of a loop: as instructions, as loops of NumPy, or else called in Python."""

from __future__ import annotations

import ast
import ctypes
import math
import threading
from collections.abc import Callable, Sequence
from ctypes.util import find_library
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from smemviz.engines.lockstep.python.functions import intrinsics
from smemviz.engines.lockstep.python.functions.mathematics import OfPython
from smemviz.engines.lockstep.python.functions.ufuncs import exponential
from smemviz.engines.lockstep.python.one_thread.native.kinds import (
    BIT,
    INT,
    REAL,
    Complex,
    Made,
    NotNativeError,
    Range,
    Unsigned,
    in_memory,
)
from smemviz.engines.lockstep.python.one_thread.native.numbers import Numbers
from smemviz.engines.lockstep.python.one_thread.native.ufuncs import called, loop_of
from smemviz.engines.lockstep.python.one_thread.stored import bits_of_double, bits_of_single, bits_of_singles
from smemviz.engines.lockstep.python.one_thread.text import singles
from smemviz.engines.lockstep.python.one_thread.text.functions import magnitude, reversed_bits
from smemviz.engines.lockstep.python.one_thread.text.powers import (
    MOST_SQUARED,
    power_of_double,
    power_of_integer,
    power_of_single,
)
from smemviz.engines.lockstep.python.one_thread.values import opened
from smemviz.engines.lockstep.values.typing import (
    BOOL,
    COMPLEX128,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    UINT64,
    Dtype,
    cast,
)

_TYPES: dict[Any, Dtype] = {BIT: BOOL, INT: INT64, Unsigned: UINT64, REAL: FLOAT64, Complex: COMPLEX128}
_RESULTS: dict[str, tuple[type, Any]] = {"int": (int, INT), "float": (float, REAL), "bool": (bool, BIT)}
_IN_C: dict[Any, Any] = {BIT: ctypes.c_int64, INT: ctypes.c_int64, Unsigned: ctypes.c_uint64, REAL: ctypes.c_double}


class Failed:
    """The threads of this process that met an error in Python that machine code had called."""

    def __init__(self) -> None:
        self._threads: set[int] = set()

    def note(self) -> None:
        """Note that this one has."""
        self._threads.add(threading.get_ident())

    def taken(self) -> bool:
        """Tell whether this one has, and forget it."""
        has_failed = threading.get_ident() in self._threads
        self._threads.discard(threading.get_ident())
        return has_failed


@dataclass
class Functions(Numbers):
    """Translates calls; ``python`` are the functions that machine code calls, which have to be kept with it."""

    python: list[Any] = field(default_factory=list)
    failed: Failed = field(default_factory=Failed)

    def _of_call(self, node: ast.Call) -> Made:
        if isinstance(node.func, ast.Attribute):
            return self._of_method(node.func, node.args)
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise NotNativeError
        name = node.func.id
        if name in self.constants:
            return self._known(self.constants[name], [self.value(argument) for argument in node.args])
        rule = _CALLS.get(name)
        if rule is None:
            raise NotNativeError
        first = node.args[0]
        is_conversion = name in (*_RESULTS, "complex") and len(node.args) == 1
        if is_conversion and isinstance(first, ast.Call) and ast.unparse(first.func) in self.constants:
            return rule(self, self._function(self.constants[ast.unparse(first.func)], first.args, name))
        return rule(self, *(self.value(argument) for argument in node.args))

    def _known(self, function: Any, made: Sequence[Made]) -> Made:
        if isinstance(function, OfPython):
            return self._of_python(function, made)
        if function not in _KNOWN:
            raise NotNativeError
        return _KNOWN[function](self, *made)

    def _of_python(self, function: OfPython, made: Sequence[Made]) -> Made:
        """Compute a function of Python's ``math`` by that of C, where it gives the same, or else have Python do so."""
        address = _same_in_c(function, len(made))
        if address is None:
            return self._by_python(function, (FLOAT64,) * len(made), [], made, "float")
        to_call = ir.FunctionType(REAL, [REAL] * len(made)).as_pointer()
        numbers = [self.as_real(number) for number in made]
        return Made(REAL, self.builder.call(self.builder.inttoptr(ir.Constant(INT, address), to_call), numbers))

    # -- functions that a text has as constants, whose result it makes a number of Python

    def _function(self, function: Any, arguments: Sequence[ast.expr], result: str) -> Made:
        given = [self._typed(argument) for argument in arguments]
        numbers = [made for made, _ in filter(None, given)]
        types = tuple(dtype for _, dtype in filter(None, given))
        if len(numbers) == len(given):
            if function in _KNOWN:
                return self._known(function, numbers)
            if function is exponential:
                return self.exponential(numbers[0], types[0])
            fused = self._fused(numbers, types[0]) if function is intrinsics.fma and len({*types}) == 1 else None
            if fused is not None:
                return fused
            loop = loop_of(function, types) if isinstance(function, np.ufunc) else None
            if loop is not None:
                stored = [self.stored(made, dtype) for made, dtype in zip(numbers, types, strict=True)]
                return self.loaded(called(self, loop, stored), loop.result)
        others = [self.constants[ast.unparse(argument)] for argument in arguments if self._is_no_number(argument)]
        if function is cast and others == [FLOAT16] and numbers[0].kind is not Complex:
            return self.loaded(self.stored(numbers[0], FLOAT16), FLOAT16)
        return self._by_python(function, [each and each[1] for each in given], others, numbers, result)

    def _is_no_number(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.constants and not is_number(self.constants[node.id])

    def _typed(self, node: ast.expr) -> tuple[Made, Dtype] | None:
        """Translate what a function is given, with its type; None for what is no number."""
        if self._is_no_number(node):
            return None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            of_type = self.constants.get(node.func.id)
            if isinstance(of_type, type) and issubclass(of_type, np.generic):
                made, dtype = self.value(node.args[0]), np.dtype(of_type)
                return (self.single(made) if dtype == FLOAT32 else made), dtype
        made = self.value(node)
        if made.kind not in _TYPES:
            raise NotNativeError
        return made, _TYPES[made.kind]

    def _by_python(
        self, function: Any, types: Sequence[Dtype | None], others: Sequence[Any], numbers: Sequence[Made], result: str
    ) -> Made:
        """Have Python call a function with ``numbers`` of some types, and ``others`` where there is none.

        After an error there the loop is left to the text.
        """
        if result not in _RESULTS or not all(made.kind in _IN_C for made in numbers):
            raise NotNativeError
        of_result, kind = _RESULTS[result]
        failed = self.failed

        def answer(*given: Any) -> Any:
            number, other = iter(given), iter(others)
            try:
                arguments = [next(other) if each is None else opened(next(number), each) for each in types]
                return of_result(function(*arguments))
            except Exception:
                failed.note()
                return 0

        values = [made.value if made.kind is REAL else self.as_integer(made) for made in numbers]
        of_call = REAL if kind is REAL else INT
        made = ctypes.CFUNCTYPE(_IN_C[of_call], *(_IN_C[made.kind] for made in numbers))(answer)
        self.python.append(made)
        address = ir.Constant(INT, ctypes.cast(made, ctypes.c_void_p).value)
        to_call = ir.FunctionType(of_call, [value.type for value in values]).as_pointer()
        value = self.builder.call(self.builder.inttoptr(address, to_call), values)
        return Made(kind, self.builder.trunc(value, BIT) if kind is BIT else value)

    # -- methods

    def _of_method(self, function: ast.Attribute, arguments: Sequence[ast.expr]) -> Made:
        made = self.value(function.value)
        if function.attr == "index":
            return self._index(made, self.integer(arguments[0]))
        if function.attr == "conjugate" and made.kind is Complex:
            return Made(Complex, parts=(made.parts[0], self.builder.fneg(made.parts[1])))
        if function.attr not in ("bit_count", "bit_length"):
            raise NotNativeError
        number, builder = self.as_integer(made), self.builder
        if function.attr == "bit_count":
            return Made(INT, builder.ctpop(number))
        return Made(INT, builder.sub(ir.Constant(INT, INT.width), builder.ctlz(number, ir.Constant(BIT, 0))))

    def _index(self, numbers: Made, number: ir.Value) -> Made:
        """Return where in a range a number of it is."""
        if numbers.kind is not Range:
            raise NotNativeError
        start, _, step = numbers.parts
        return Made(INT, self.builder.sdiv(self.builder.sub(number, start), step))

    # -- functions that are instructions

    def int_of(self, made: Made) -> Made:
        """Cut off what is behind the point; the text has looked whether that fits."""
        if made.kind is REAL:
            return Made(INT, self.builder.fptosi(made.value, INT))
        return Made(INT, self.as_integer(made))

    def float_of(self, made: Made) -> Made:
        """Return a number as a double."""
        return Made(REAL, self.as_real(made))

    def bool_of(self, made: Made) -> Made:
        """Return a number as a truth."""
        return Made(BIT, self.as_truth(made))

    def length_of(self, made: Made) -> Made:
        """Return how many numbers a range has."""
        if made.kind is not Range:
            raise NotNativeError
        return Made(INT, made.parts[1])

    def magnitude(self, made: Made) -> Made:
        """Return a number without its sign."""
        if made.kind is REAL:
            return Made(REAL, self.of_library("fabs", made.value))
        if made.kind is Unsigned:
            return made
        number = self.as_integer(made)
        is_below = self.builder.icmp_signed("<", number, ir.Constant(INT, 0))
        return Made(INT, self.builder.select(is_below, self.builder.neg(number), number))

    def least_of(self, left: Made, right: Made) -> Made:
        """Return the smaller one of two integers."""
        a, b = self.as_integer(left), self.as_integer(right)
        return Made(INT, self.builder.select(self.builder.icmp_signed("<", b, a), b, a))

    def complex_of(self, *parts: Made) -> Made:
        """Return the complex number of a real and an imaginary part, or such a number as it is."""
        if parts[0].kind is Complex:
            return parts[0]
        real, imaginary = (*map(self.as_real, parts), ir.Constant(REAL, 0.0))[:2]
        return Made(Complex, parts=(real, imaginary))

    def length(self, made: Made) -> Made:
        """Return the absolute value of a complex number."""
        if made.kind is not Complex:
            raise NotNativeError
        return Made(REAL, self.by_numpy(np.hypot, *made.parts))

    def rounded(self, made: Made) -> Made:
        """Round a complex number to single precision."""
        if made.kind is not Complex:
            raise NotNativeError
        return Made(Complex, parts=tuple(self.single(Made(REAL, part)).value for part in made.parts))

    def bits_of_double(self, made: Made) -> Made:
        """Return the bits of a double."""
        return Made(Unsigned, self.builder.bitcast(self.as_real(made), INT))

    def bits_of_single(self, made: Made) -> Made:
        """Return the bits of a number in single precision."""
        bits = self.builder.bitcast(self.stored(made, FLOAT32), ir.IntType(32))
        return Made(Unsigned, self.builder.zext(bits, INT))

    def bits_of_singles(self, made: Made) -> Made:
        """Return the bits of a complex number in single precision."""
        if made.kind is not Complex:
            raise NotNativeError
        low, high = (self.bits_of_single(Made(REAL, part)).value for part in made.parts)
        return Made(Unsigned, self.builder.or_(low, self.builder.shl(high, ir.Constant(INT, 32))))

    def product_of_singles(self, left: Made, right: Made) -> Made:
        """Multiply complex numbers in single precision."""
        if left.kind is not Complex or right.kind is not Complex:
            raise NotNativeError
        return self.multiplied(left.parts, right.parts, self.single)

    def exponential(self, made: Made, dtype: Dtype) -> Made:
        """Return e to the power of a complex number."""
        loop, builder = loop_of(np.exp, (dtype,)), self.builder
        if made.kind is not Complex or loop is None:
            raise NotNativeError
        power = self.loaded(called(self, loop, [self.stored(made, dtype)]), dtype)
        real, imaginary = made.parts
        is_nothing = builder.fcmp_ordered("==", real, ir.Constant(REAL, -math.inf))
        beside = self.of_library("fabs", imaginary)
        is_nothing = builder.and_(is_nothing, builder.fcmp_unordered("==", beside, ir.Constant(REAL, math.inf)))
        return Made(Complex, parts=tuple(builder.select(is_nothing, ir.Constant(REAL, 0.0), p) for p in power.parts))

    def reversed_bits(self, made: Made, width: Made) -> Made:
        """Return the lowest bits of an integer in the other order."""
        number, size = self.as_integer(made), self.as_integer(width)
        return Made(
            INT, self.builder.lshr(self.builder.bitreverse(number), self.builder.sub(ir.Constant(INT, 64), size))
        )

    def range_of(self, *ends: Made) -> Made:
        """Return a range."""
        if any(end.kind is Unsigned for end in ends):
            raise NotNativeError
        return self.range(*(self.as_integer(end) for end in ends))

    def root(self, made: Made) -> Made:
        """Return the square root of a number that is not below 0."""
        return Made(REAL, self.of_library("sqrt", self.as_real(made)))

    def power_of_integer(self, base: Made, exponent: Made) -> Made:
        """Raise an integer to a whole power."""
        nothing, one = ir.Constant(INT, 0), ir.Constant(INT, 1)
        number, power = base.value, exponent.value
        is_negative = self.builder.icmp_signed("<", power, nothing)
        self.only_if(self.builder.not_(self.builder.and_(is_negative, self.builder.icmp_signed("==", number, nothing))))
        made, builder = self._squared(base, exponent, Made(INT, one)), self.builder
        size = builder.select(builder.icmp_signed("<", number, nothing), builder.neg(number), number)
        kept = builder.select(builder.icmp_signed("==", size, one), made.value, nothing)
        return Made(INT, builder.select(is_negative, kept, made.value))

    def power_of_double(self, base: Made, exponent: Made) -> Made:
        """Raise a double to a whole power."""
        made = self._squared(base, exponent, Made(REAL, ir.Constant(REAL, 1.0)))
        inverted = self.builder.fdiv(ir.Constant(REAL, 1.0), made.value)
        is_negative = self.builder.icmp_signed("<", exponent.value, ir.Constant(INT, 0))
        return Made(REAL, self.builder.select(is_negative, inverted, made.value))

    def power_of_single(self, base: Made, exponent: Made) -> Made:
        """Raise a number in single precision to a whole power."""
        made = self._squared(base, exponent, Made(REAL, ir.Constant(REAL, 1.0)), is_single=True)
        inverted = self.single(Made(REAL, self.builder.fdiv(ir.Constant(REAL, 1.0), made.value)))
        is_negative = self.builder.icmp_signed("<", exponent.value, ir.Constant(INT, 0))
        return Made(REAL, self.builder.select(is_negative, inverted.value, made.value))

    def _squared(self, base: Made, exponent: Made, one: Made, *, is_single: bool = False) -> Made:
        """Raise a number to the size of a power, which is left to the text where it is large."""
        if base.kind is not one.kind or exponent.kind is not INT:
            raise NotNativeError
        builder, nothing = self.builder, ir.Constant(INT, 0)
        is_negative = builder.icmp_signed("<", exponent.value, nothing)
        size = builder.select(is_negative, builder.neg(exponent.value), exponent.value)
        self.only_if(builder.icmp_unsigned("<=", size, ir.Constant(INT, MOST_SQUARED)))
        result, factor = (self.allocas.alloca(one.kind) for _ in range(2))
        left = self.allocas.alloca(INT)
        for cell, value in ((result, one.value), (factor, base.value), (left, size)):
            self.builder.store(value, cell)
        again, turn, behind = (self.builder.append_basic_block() for _ in range(3))
        self.builder.branch(again)
        self.builder = ir.IRBuilder(again)
        self.builder.cbranch(self.builder.icmp_signed("!=", self.builder.load(left), nothing), turn, behind)
        self.builder = builder = ir.IRBuilder(turn)
        now, by, rest = (builder.load(cell) for cell in (result, factor, left))
        is_odd = builder.trunc(rest, BIT)
        builder.store(builder.select(is_odd, self._product(now, by, is_single=is_single), now), result)
        builder.store(self._product(by, by, is_single=is_single), factor)
        builder.store(builder.lshr(rest, ir.Constant(INT, 1)), left)
        builder.branch(again)
        self.builder = ir.IRBuilder(behind)
        return Made(one.kind, self.builder.load(result))

    def _product(self, left: ir.Value, right: ir.Value, *, is_single: bool) -> ir.Value:
        if left.type is INT:
            return self.builder.mul(left, right)
        product = Made(REAL, self.builder.fmul(left, right))
        return (self.single(product) if is_single else product).value

    def _fused(self, numbers: Sequence[Made], dtype: Dtype) -> Made | None:
        """Return a product and a sum that are rounded once, None where the C library of this system is not found."""
        address = _in_c_library("fma" if dtype == FLOAT64 else "fmaf")
        if address is None:
            return None
        values, kind = [self.stored(made, dtype) for made in numbers], in_memory(dtype)
        to_call = ir.FunctionType(kind, [kind] * len(values)).as_pointer()
        function = self.builder.inttoptr(ir.Constant(INT, address), to_call)
        return self.loaded(self.builder.call(function, values), dtype)


@cache
def _in_c_library(name: str) -> int | None:
    """Return the address of a function of C's mathematics."""
    library = find_library("m")
    function = getattr(ctypes.CDLL(library), name, None) if library else None
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


@cache
def _same_in_c(function: OfPython, count: int) -> int | None:
    """Return the address of C's function of the same name, None where it gives something else than Python's."""
    address = _in_c_library(function.function.__name__)
    if address is None:
        return None
    of_c = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * count)(address)
    numbers = [*np.linspace(-6, 6, 61).tolist(), 0.1, 1e-9, 40.5, 1e300, math.inf, -math.inf, math.nan]
    pairs = [(of_c(*given), function(*given)) for given in zip(*(numbers[k:] for k in range(count)), strict=False)]
    same = all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in pairs)
    return address if same else None


def is_number(value: object) -> bool:
    """Tell whether a constant of a text is a number."""
    return isinstance(value, bool | int | float | complex | np.number | np.bool_)


def is_known(value: object) -> bool:
    """Tell whether machine code may need a constant of a text: a number, a type or a function."""
    return is_number(value) or isinstance(value, np.dtype) or callable(value)


_KNOWN: dict[Any, Callable[..., Made]] = {
    magnitude: Functions.length,
    math.sqrt: Functions.root,
    power_of_double: Functions.power_of_double,
    power_of_integer: Functions.power_of_integer,
    power_of_single: Functions.power_of_single,
    bits_of_double: Functions.bits_of_double,
    bits_of_single: Functions.bits_of_single,
    bits_of_singles: Functions.bits_of_singles,
    reversed_bits: Functions.reversed_bits,
    singles.product: Functions.product_of_singles,
    singles.rounded: Functions.rounded,
    np.float32: Functions.single,
}
_CALLS: dict[str, Callable[..., Made]] = {
    "int": Functions.int_of,
    "float": Functions.float_of,
    "bool": Functions.bool_of,
    "complex": Functions.complex_of,
    "len": Functions.length_of,
    "abs": Functions.magnitude,
    "min": Functions.least_of,
    "range": Functions.range_of,
}
