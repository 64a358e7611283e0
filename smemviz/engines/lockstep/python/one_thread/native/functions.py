"""Functions of numbers in the text of a loop: as instructions, as loops of NumPy, or else called in Python."""

from __future__ import annotations

import ast
import ctypes
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir

from smemviz.engines.lockstep.python.functions import intrinsics
from smemviz.engines.lockstep.python.one_thread.native.kinds import (
    BIT,
    INT,
    REAL,
    Complex,
    Made,
    NotNativeError,
    Range,
    Unsigned,
)
from smemviz.engines.lockstep.python.one_thread.native.numbers import Numbers
from smemviz.engines.lockstep.python.one_thread.native.ufuncs import called, loop_of
from smemviz.engines.lockstep.python.one_thread.text.functions import magnitude
from smemviz.engines.lockstep.python.one_thread.values import opened
from smemviz.engines.lockstep.values.typing import BOOL, COMPLEX128, FLOAT32, FLOAT64, INT64, UINT64, Dtype

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
        (first, *_) = node.args
        if name in (*_RESULTS, "complex") and isinstance(first, ast.Call) and ast.unparse(first.func) in self.constants:
            return rule(self, self._function(self.constants[ast.unparse(first.func)], first.args, name))
        return rule(self, *(self.value(argument) for argument in node.args))

    def _known(self, function: Any, made: Sequence[Made]) -> Made:
        if function not in _KNOWN:
            raise NotNativeError
        return _KNOWN[function](self, *made)

    # -- functions that a text has as constants, whose result it makes a number of Python

    def _function(self, function: Any, arguments: Sequence[ast.expr], result: str) -> Made:
        given = [self._typed(argument) for argument in arguments]
        numbers = [made for made, _ in filter(None, given)]
        types = tuple(dtype for _, dtype in filter(None, given))
        if len(numbers) == len(given):
            if function in _KNOWN:
                return self._known(function, numbers)
            if function is intrinsics.fma and len({*types}) == 1:
                return self._fused(numbers, types[0])
            loop = loop_of(function, types) if isinstance(function, np.ufunc) else None
            if loop is not None:
                stored = [self.stored(made, dtype) for made, dtype in zip(numbers, types, strict=True)]
                return self.loaded(called(self, loop, stored), loop.result)
        others = [self.constants[ast.unparse(argument)] for argument in arguments if self._is_no_number(argument)]
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
            return Made(REAL, self._of_library("fabs", made.value))
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
        loop = loop_of(np.hypot, (FLOAT64, FLOAT64))
        if loop is None or made.kind is not Complex:
            raise NotNativeError
        return Made(REAL, called(self, loop, made.parts))

    def range_of(self, *ends: Made) -> Made:
        """Return a range."""
        if any(end.kind is Unsigned for end in ends):
            raise NotNativeError
        return self.range(*(self.as_integer(end) for end in ends))

    def root(self, made: Made) -> Made:
        """Return the square root of a number that is not below 0."""
        return Made(REAL, self._of_library("sqrt", self.as_real(made)))

    def _fused(self, numbers: Sequence[Made], dtype: Dtype) -> Made:
        """Return a product and a sum that are rounded once."""
        return self.loaded(self.builder.fma(*(self.stored(made, dtype) for made in numbers)), dtype)

    def _of_library(self, name: str, number: ir.Value) -> ir.Value:
        return self.builder.call(self.module.declare_intrinsic(f"llvm.{name}", [REAL]), [number])


def is_number(value: object) -> bool:
    """Tell whether a constant of a text is a number."""
    return isinstance(value, bool | int | float | complex | np.number | np.bool_)


def is_known(value: object) -> bool:
    """Tell whether machine code may need a constant of a text: a number, a type or a function."""
    return is_number(value) or isinstance(value, np.dtype) or callable(value)


_KNOWN: dict[Any, Callable[..., Made]] = {
    magnitude: Functions.length,
    math.sqrt: Functions.root,
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
