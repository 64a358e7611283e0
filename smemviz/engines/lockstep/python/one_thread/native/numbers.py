"""Expressions of the text of a loop in LLVM's language."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from smemviz.engines.lockstep.python.one_thread.native.kinds import (
    BIT,
    INT,
    REAL,
    SINGLE,
    Cells,
    Made,
    NotNativeError,
    Range,
)

_EXACT = 2**53  # up to here every integer is a double
_ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_OF_INTEGERS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.LShift: "shl", ast.RShift: "ashr"}
_OF_REALS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_OF_BITS = {ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor"}


@dataclass
class Numbers(Cells):
    """Translates expressions."""

    def value(self, node: ast.expr) -> Made:
        """Translate an expression."""
        rule: Callable[[Any], Made] | None = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if rule is None:
            raise NotNativeError
        return rule(node)

    def integer(self, node: ast.expr) -> ir.Value:
        """Translate an expression that is an integer."""
        return self.as_integer(self.value(node))

    def truth(self, node: ast.expr) -> ir.Value:
        """Translate a condition."""
        return self.as_truth(self.value(node))

    # -- names and constants

    def _of_constant(self, node: ast.Constant) -> Made:
        return self.literal(node.value)

    def _of_name(self, node: ast.Name) -> Made:
        return self.read(node.id)

    def _of_namedexpr(self, node: ast.NamedExpr) -> Made:
        made = self.value(node.value)
        self.assign(node.target.id, made)
        return made

    # -- operators

    def _of_unaryop(self, node: ast.UnaryOp) -> Made:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return self.literal(-node.operand.value)  # type: ignore[operator]
        made = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return Made(BIT, self.builder.not_(self.as_truth(made)))
        if not isinstance(node.op, ast.USub):
            raise NotNativeError
        if made.kind is REAL:
            return Made(REAL, self.builder.fneg(made.value))
        return Made(INT, self.builder.neg(self.as_integer(made)))

    def _of_binop(self, node: ast.BinOp) -> Made:
        return self.operate(node.op, self.value(node.left), self.value(node.right))

    def operate(self, operator: ast.operator, left: Made, right: Made) -> Made:
        """Translate an operator between two numbers."""
        op, builder = type(operator), self.builder
        if left.kind is REAL and right.kind is REAL and op in _OF_REALS:
            return Made(REAL, getattr(builder, _OF_REALS[op])(left.value, right.value))
        if left.kind is BIT and right.kind is BIT and op in _OF_BITS:
            return Made(BIT, getattr(builder, _OF_BITS[op])(left.value, right.value))
        a, b = self.as_integer(left), self.as_integer(right)
        if op in _OF_INTEGERS or op in _OF_BITS:
            return Made(INT, getattr(builder, _OF_INTEGERS.get(op) or _OF_BITS[op])(a, b))
        if op not in (ast.FloorDiv, ast.Mod):
            raise NotNativeError
        self._only_if(builder.icmp_signed(">", b, ir.Constant(INT, 0)))
        builder = self.builder
        rest = builder.srem(a, b)
        is_below = builder.icmp_signed("<", rest, ir.Constant(INT, 0))
        if op is ast.Mod:
            return Made(INT, builder.select(is_below, builder.add(rest, b), rest))
        return Made(INT, builder.sub(builder.sdiv(a, b), builder.zext(is_below, INT)))

    def _only_if(self, test: ir.Value) -> None:
        """Leave the loop to the text where a test fails."""
        left, goes_on = self.builder.append_basic_block(), self.builder.append_basic_block()
        self.builder.cbranch(test, goes_on, left)
        self.builder = ir.IRBuilder(left)
        self.go_another_way()
        self.builder = ir.IRBuilder(goes_on)

    def go_another_way(self) -> None:
        """Leave the whole loop to the text, which does what is done here."""
        raise NotImplementedError

    def _of_compare(self, node: ast.Compare) -> Made:
        if isinstance(node.ops[0], ast.Is | ast.IsNot):
            if not isinstance(node.left, ast.Name) or ast.unparse(node.comparators[0]) != "U":
                raise NotNativeError
            if node.left.id not in self.cells:
                raise NotNativeError
            is_assigned = self.builder.load(self.cells[node.left.id][-1])
            return Made(BIT, self.builder.not_(is_assigned) if isinstance(node.ops[0], ast.Is) else is_assigned)
        left, result = self.value(node.left), None
        for op, operand in zip(node.ops, node.comparators, strict=True):
            right = self.value(operand)
            test = self._compared(op, left, right)
            result = test if result is None else self.builder.and_(result, test)
            left = right
        return Made(BIT, result)

    def _compared(self, op: ast.cmpop, left: Made, right: Made) -> ir.Value:
        sign = _ORDERS.get(type(op))
        if sign is None:
            raise NotNativeError
        left, right = self._beside(left, right), self._beside(right, left)
        if left.kind is REAL and right.kind is REAL:
            compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
            return compare(sign, left.value, right.value)
        return self.builder.icmp_signed(sign, self.as_integer(left), self.as_integer(right))

    def _beside(self, made: Made, other: Made) -> Made:
        """Return an integer that is written out as a double where it stands beside one."""
        is_number = made.kind is INT and isinstance(made.value, ir.Constant) and abs(made.value.constant) <= _EXACT
        return Made(REAL, ir.Constant(REAL, float(made.value.constant))) if is_number and other.kind is REAL else made

    def _of_boolop(self, node: ast.BoolOp) -> Made:
        """Evaluate conditions one after the other until it is decided."""
        is_and, decided = isinstance(node.op, ast.And), self.builder.append_basic_block()
        ways = []
        for operand in node.values[:-1]:
            test = self.truth(operand)
            further = self.builder.append_basic_block()
            ways.append(self.builder.block)
            self.builder.cbranch(test, *((further, decided) if is_and else (decided, further)))
            self.builder = ir.IRBuilder(further)
        last = self.truth(node.values[-1])
        ends = self.builder.block
        self.builder.branch(decided)
        self.builder = ir.IRBuilder(decided)
        result = self.builder.phi(BIT)
        for way in ways:
            result.add_incoming(ir.Constant(BIT, int(not is_and)), way)
        result.add_incoming(last, ends)
        return Made(BIT, result)

    def _of_ifexp(self, node: ast.IfExp) -> Made:
        test = self.truth(node.test)
        then, otherwise, behind = (self.builder.append_basic_block() for _ in range(3))
        self.builder.cbranch(test, then, otherwise)
        ends: list[tuple[Made, ir.Block]] = []
        for block, part in ((then, node.body), (otherwise, node.orelse)):
            self.builder = ir.IRBuilder(block)
            if self._is_far(part):
                self.go_another_way()
                continue
            made = self.value(part)
            ends.append((made, self.builder.block))
            self.builder.branch(behind)
        self.builder = ir.IRBuilder(behind)
        if not ends or ends[0][0].kind is not ends[-1][0].kind or ends[0][0].kind is Range:
            raise NotNativeError
        result = self.builder.phi(ends[0][0].kind)
        for made, end in ends:
            result.add_incoming(made.value, end)
        return Made(ends[0][0].kind, result)

    def _is_far(self, node: ast.expr) -> bool:
        """Tell whether an expression calls what Python does and machine code does not."""
        calls = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
        return any(not isinstance(name, ast.Name) or name.id not in (*self.constants, *_CALLS) for name in calls)

    # -- elements

    def _of_subscript(self, node: ast.Subscript) -> Made:
        if not isinstance(node.value, ast.Name):
            raise NotNativeError
        name = node.value.id
        if self.kinds.get(name) is Range:
            return self._part(self.read(name), node.slice)
        if name == "z":
            return self.read("z")
        dtype, element = self._element(name, node.slice)
        number = self.builder.load(element)
        if dtype.kind == "f":
            return Made(REAL, number if dtype.itemsize == 8 else self.builder.fpext(number, REAL))
        if dtype.kind == "b":
            return Made(BIT, self.builder.icmp_signed("!=", number, ir.Constant(number.type, 0)))
        if dtype.itemsize == 8:
            return Made(INT, number)
        return Made(INT, (self.builder.sext if dtype.kind == "i" else self.builder.zext)(number, INT))

    def _element(self, name: str, index: ast.expr) -> tuple[np.dtype[Any], ir.Value]:
        dtype = self.dtypes.get(name)
        if dtype is None or (dtype.kind == "u" and dtype.itemsize == 8) or dtype.kind not in "biuf":
            raise NotNativeError
        kind = ir.IntType(8 * dtype.itemsize) if dtype.kind != "f" else {4: SINGLE, 8: REAL}.get(dtype.itemsize)
        if kind is None:
            raise NotNativeError
        first = self.builder.inttoptr(self.builder.load(self.variable(name, INT)[0]), kind.as_pointer())
        return dtype, self.builder.gep(first, [self.integer(index)])

    def store(self, name: str, index: ast.expr, made: Made) -> None:
        """Store in an element, or round to single precision."""
        if name == "z":
            self.assign("z", self.single(made))
            return
        dtype, element = self._element(name, index)
        if dtype.kind == "f":
            number = self.as_real(made)
            self.builder.store(number if dtype.itemsize == 8 else self.builder.fptrunc(number, SINGLE), element)
            return
        if made.kind is REAL:
            raise NotNativeError
        number = self.builder.zext(self.as_truth(made), INT) if dtype.kind == "b" else self.as_integer(made)
        self.builder.store(number if dtype.itemsize == 8 else self.builder.trunc(number, element.type.pointee), element)

    # -- ranges

    def _part(self, numbers: Made, index: ast.expr) -> Made:
        """Translate ``r[:n]`` or ``r[n:]``, of a number that is not negative, as it never is."""
        start, length, step = numbers.parts
        if not isinstance(index, ast.Slice) or index.step is not None or (index.lower is None) == (index.upper is None):
            raise NotNativeError
        builder, nothing = self.builder, ir.Constant(INT, 0)
        many = self.integer(index.upper or index.lower)  # type: ignore[arg-type]
        many = builder.select(builder.icmp_signed("<", many, nothing), nothing, many)
        many = builder.select(builder.icmp_signed("<", many, length), many, length)
        if index.lower is None:
            return Made(Range, parts=(start, many, step))
        return Made(Range, parts=(builder.add(start, builder.mul(many, step)), builder.sub(length, many), step))

    def _range(self, node: ast.Call) -> Made:
        ends = [self.integer(end) for end in node.args]
        builder, one, nothing = self.builder, ir.Constant(INT, 1), ir.Constant(INT, 0)
        start, stop, step = (nothing, ends[0], one) if len(ends) == 1 else (*ends, one)[:3]
        made = builder.ssub_with_overflow(stop, start)
        way, is_far = builder.extract_value(made, 0), builder.extract_value(made, 1)
        is_far = builder.or_(is_far, builder.icmp_signed("==", way, ir.Constant(INT, -(2**63))))  # has no opposite
        self._only_if(builder.and_(builder.not_(is_far), builder.icmp_signed("!=", step, nothing)))
        builder = self.builder
        is_up = builder.icmp_signed(">", step, nothing)
        way = builder.select(is_up, way, builder.neg(way))
        size = builder.select(is_up, step, builder.neg(step))
        # (way + size - 1) // size, which may be too much for 64 bits
        length = builder.add(builder.udiv(builder.sub(way, one), size), one)
        return Made(Range, parts=(start, builder.select(builder.icmp_signed(">", way, nothing), length, nothing), step))

    # -- calls

    def _of_call(self, node: ast.Call) -> Made:
        if isinstance(node.func, ast.Attribute):
            return self._index(node)
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise NotNativeError
        name = node.func.id
        if name == "range":
            return self._range(node)
        made = [self.value(argument) for argument in node.args]
        rule = _KNOWN.get(self.constants[name]) if name in self.constants else _CALLS.get(name)
        if rule is None:
            raise NotNativeError
        return rule(self, *made)

    def _index(self, node: ast.Call) -> Made:
        """Translate where in a range a number of it is."""
        function = node.func
        if not isinstance(function, ast.Attribute) or function.attr != "index":
            raise NotNativeError
        numbers = self.value(function.value)
        if numbers.kind is not Range:
            raise NotNativeError
        start, _, step = numbers.parts
        return Made(INT, self.builder.sdiv(self.builder.sub(self.integer(node.args[0]), start), step))

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
        number = self.as_integer(made)
        is_below = self.builder.icmp_signed("<", number, ir.Constant(INT, 0))
        return Made(INT, self.builder.select(is_below, self.builder.neg(number), number))

    def least_of(self, left: Made, right: Made) -> Made:
        """Return the smaller one of two integers."""
        a, b = self.as_integer(left), self.as_integer(right)
        return Made(INT, self.builder.select(self.builder.icmp_signed("<", b, a), b, a))

    def root(self, made: Made) -> Made:
        """Return the square root of a number that is not below 0."""
        return Made(REAL, self._of_library("sqrt", self.as_real(made)))

    def single(self, made: Made) -> Made:
        """Round to single precision."""
        near = self.builder.fptrunc(self.as_real(made), SINGLE)
        return Made(REAL, self.builder.fpext(near, REAL))

    def _of_library(self, name: str, number: ir.Value) -> ir.Value:
        return self.builder.call(self.module.declare_intrinsic(f"llvm.{name}", [REAL]), [number])


def is_known(value: object) -> bool:
    """Tell whether a constant of a text is a number, or a function of numbers that machine code has too."""
    return isinstance(value, bool | int | float | np.number | np.bool_) or any(value is known for known in _KNOWN)


_KNOWN: dict[Any, Callable[..., Made]] = {math.sqrt: Numbers.root, np.float32: Numbers.single}
_CALLS: dict[str, Callable[..., Made]] = {
    "int": Numbers.int_of,
    "float": Numbers.float_of,
    "bool": Numbers.bool_of,
    "len": Numbers.length_of,
    "abs": Numbers.magnitude,
    "min": Numbers.least_of,
}
