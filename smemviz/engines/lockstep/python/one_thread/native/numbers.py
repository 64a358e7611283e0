"""Expressions of the text of a loop in LLVM's language."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
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
    Complex,
    Made,
    NotNativeError,
    Range,
    Unsigned,
    as_unsigned,
    cells_of,
    in_memory,
    made_of,
)
from smemviz.engines.lockstep.python.one_thread.native.ufuncs import called, loop_of
from smemviz.engines.lockstep.values.typing import FLOAT64

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
        if isinstance(node.op, ast.UAdd):  # so a text says that an integer has no sign
            return Made(Unsigned, self.as_integer(made)) if made.kind is INT else made
        if not isinstance(node.op, ast.USub):
            raise NotNativeError
        if made.kind in (REAL, Complex):
            return made_of(made.kind, [self.builder.fneg(part) for part in made.values])
        return Made(made.kind if made.kind is Unsigned else INT, self.builder.neg(self.as_integer(made)))

    def _of_binop(self, node: ast.BinOp) -> Made:
        return self.operate(node.op, self.value(node.left), self.value(node.right))

    def operate(self, operator: ast.operator, left: Made, right: Made) -> Made:
        """Translate an operator between two numbers."""
        op, builder = type(operator), self.builder
        if left.kind is REAL and right.kind is REAL and op in _OF_REALS:
            return Made(REAL, getattr(builder, _OF_REALS[op])(left.value, right.value))
        if left.kind is REAL and right.kind is REAL and op in (ast.FloorDiv, ast.Mod):
            return self._divided_reals(op, left.value, right.value)
        if left.kind is BIT and right.kind is BIT and op in _OF_BITS:
            return Made(BIT, getattr(builder, _OF_BITS[op])(left.value, right.value))
        if left.kind is Complex and right.kind is Complex:
            return self._complex(op, left.parts, right.parts)
        a, b = self.as_integer(left), self.as_integer(right)
        is_unsigned = left.kind is Unsigned or (right.kind is Unsigned and op not in (ast.LShift, ast.RShift))
        kind = Unsigned if is_unsigned else INT
        if op is ast.RShift and is_unsigned:
            return Made(kind, builder.lshr(a, b))
        if op in _OF_INTEGERS or op in _OF_BITS:
            return Made(kind, getattr(builder, _OF_INTEGERS.get(op) or _OF_BITS[op])(a, b))
        if op not in (ast.FloorDiv, ast.Mod):
            raise NotNativeError
        if is_unsigned:
            return self._divided(op, as_unsigned(left), as_unsigned(right))
        self.only_if(builder.icmp_signed(">", b, ir.Constant(INT, 0)))
        builder = self.builder
        rest = builder.srem(a, b)
        is_below = builder.icmp_signed("<", rest, ir.Constant(INT, 0))
        if op is ast.Mod:
            return Made(INT, builder.select(is_below, builder.add(rest, b), rest))
        return Made(INT, builder.sub(builder.sdiv(a, b), builder.zext(is_below, INT)))

    def _divided_reals(self, op: type[ast.operator], a: ir.Value, b: ir.Value) -> Made:
        """Divide floats as Python does; the text has looked whether that does."""
        builder, nothing, one = self.builder, ir.Constant(REAL, 0.0), ir.Constant(REAL, 1.0)
        rest = self.by_numpy(np.fmod, a, b)
        is_over = builder.fcmp_ordered("!=", rest, nothing)
        below = (builder.fcmp_ordered("<", number, nothing) for number in (b, rest))
        is_opposite = builder.and_(is_over, builder.xor(*below))
        if op is ast.Mod:
            made = builder.select(is_opposite, builder.fadd(rest, b), rest)
            return Made(REAL, builder.select(is_over, made, self.of_library("copysign", nothing, b)))
        whole = builder.fdiv(builder.fsub(a, rest), b)
        whole = builder.select(is_opposite, builder.fsub(whole, one), whole)
        floor = self.by_numpy(np.floor, whole)
        is_far = builder.fcmp_ordered(">", builder.fsub(whole, floor), ir.Constant(REAL, 0.5))
        floor = builder.select(is_far, builder.fadd(floor, one), floor)
        is_none = builder.fcmp_ordered("==", whole, nothing)
        return Made(REAL, builder.select(is_none, self.of_library("copysign", nothing, builder.fdiv(a, b)), floor))

    def by_numpy(self, function: np.ufunc, *numbers: ir.Value) -> ir.Value:
        """Call a function of NumPy for doubles."""
        loop = loop_of(function, (FLOAT64,) * len(numbers))
        if loop is None:
            raise NotNativeError
        return called(self, loop, numbers)

    def of_library(self, name: str, *numbers: ir.Value) -> ir.Value:
        """Call a function that is an instruction of any processor."""
        kind = ir.FunctionType(REAL, [REAL] * len(numbers))
        return self.builder.call(self.module.declare_intrinsic(f"llvm.{name}", [REAL], kind), numbers)

    def _divided(self, op: type[ast.operator], left: Made, right: Made) -> Made:
        """Divide integers without a sign."""
        if left.kind is not right.kind:
            raise NotNativeError
        self.only_if(self.as_truth(right))
        divide = self.builder.urem if op is ast.Mod else self.builder.udiv
        return Made(Unsigned, divide(left.value, right.value))

    def _complex(self, op: type[ast.operator], left: Sequence[ir.Value], right: Sequence[ir.Value]) -> Made:
        (a, b), (c, d) = left, right
        if op in (ast.Add, ast.Sub):
            combine = getattr(self.builder, _OF_REALS[op])
            return Made(Complex, parts=(combine(a, c), combine(b, d)))
        if op is not ast.Mult:
            raise NotNativeError
        return self.multiplied(left, right, lambda made: made)

    def multiplied(self, left: Sequence[ir.Value], right: Sequence[ir.Value], rounded: Callable[[Made], Made]) -> Made:
        """Multiply complex numbers, every product and sum rounded."""
        multiply, pairs = self.builder.fmul, ((0, 0), (1, 1), (0, 1), (1, 0))
        a, b, c, d = (rounded(Made(REAL, multiply(left[i], right[k]))).value for i, k in pairs)
        sums = self.builder.fsub(a, b), self.builder.fadd(c, d)
        return Made(Complex, parts=tuple(rounded(Made(REAL, part)).value for part in sums))

    def only_if(self, test: ir.Value) -> None:
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
        if left.kind is Complex and right.kind is Complex and sign in ("==", "!="):
            parts = zip(left.parts, right.parts, strict=True)
            real, imaginary = (self._compared(op, *(Made(REAL, part) for part in pair)) for pair in parts)
            return (self.builder.and_ if sign == "==" else self.builder.or_)(real, imaginary)
        if Unsigned in (left.kind, right.kind):
            return self._compared_unsigned(sign, as_unsigned(left), as_unsigned(right))
        return self.builder.icmp_signed(sign, self.as_integer(left), self.as_integer(right))

    def _compared_unsigned(self, sign: str, left: Made, right: Made) -> ir.Value:
        """Compare integers of which one has no sign."""
        builder, nothing = self.builder, ir.Constant(INT, 0)
        made = builder.icmp_unsigned(sign, self.as_integer(left), self.as_integer(right))
        for side, holds in ((left, sign in ("<", "<=", "!=")), (right, sign in (">", ">=", "!="))):
            if side.kind is not Unsigned:
                made = builder.select(builder.icmp_signed("<", side.value, nothing), ir.Constant(BIT, int(holds)), made)
        return made

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
            made = self.value(part)
            ends.append((made, self.builder.block))
            self.builder.branch(behind)
        self.builder = ir.IRBuilder(behind)
        if any(made.kind is Unsigned for made, _ in ends):
            ends = [(as_unsigned(made), end) for made, end in ends]
        (first, _), (second, _) = ends
        if first.kind is not second.kind:
            raise NotNativeError
        results = [self.builder.phi(kind) for kind in cells_of(first.kind)]
        for made, end in ends:
            for result, value in zip(results, made.values, strict=True):
                result.add_incoming(value, end)
        return made_of(first.kind, results)

    def _of_attribute(self, node: ast.Attribute) -> Made:
        made = self.value(node.value)
        if made.kind is not Complex or node.attr not in ("real", "imag"):
            raise NotNativeError
        return Made(REAL, made.parts[node.attr == "imag"])

    # -- elements

    def _of_subscript(self, node: ast.Subscript) -> Made:
        if not isinstance(node.value, ast.Name):
            raise NotNativeError
        name = node.value.id
        if self.kinds.get(name) is Range:
            return self._part(self.read(name), node.slice)
        if name == "z":
            return self.read("z")
        dtype, element = self.element(name, node.slice)
        return self.loaded(self.builder.load(element), dtype)

    def element(self, name: str, index: ast.expr) -> tuple[np.dtype[Any], ir.Value]:
        """Return the type of an element of an array, and its address."""
        dtype = self.dtypes.get(name)
        if dtype is None:
            raise NotNativeError
        address = self.builder.load(self.variable(name, INT)[0])
        first = self.builder.inttoptr(address, in_memory(dtype).as_pointer())
        return dtype, self.builder.gep(first, [self.integer(index)])

    def store(self, name: str, index: ast.expr, made: Made) -> None:
        """Store in an element, or round to single precision."""
        if name == "z":
            self.assign("z", self.single(made))
            return
        dtype, element = self.element(name, index)
        self.builder.store(self.stored(made, dtype), element)

    def single(self, made: Made) -> Made:
        """Round to single precision."""
        near = self.builder.fptrunc(self.as_real(made), SINGLE)
        return Made(REAL, self.builder.fpext(near, REAL))

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

    def range(self, *ends: ir.Value) -> Made:
        """Return a range of integers."""
        builder, one, nothing = self.builder, ir.Constant(INT, 1), ir.Constant(INT, 0)
        start, stop, step = (nothing, ends[0], one) if len(ends) == 1 else (*ends, one)[:3]
        made = builder.ssub_with_overflow(stop, start)
        way, is_far = builder.extract_value(made, 0), builder.extract_value(made, 1)
        is_far = builder.or_(is_far, builder.icmp_signed("==", way, ir.Constant(INT, -(2**63))))  # has no opposite
        self.only_if(builder.and_(builder.not_(is_far), builder.icmp_signed("!=", step, nothing)))
        builder = self.builder
        is_up = builder.icmp_signed(">", step, nothing)
        way = builder.select(is_up, way, builder.neg(way))
        size = builder.select(is_up, step, builder.neg(step))
        # (way + size - 1) // size, which may be too much for 64 bits
        length = builder.add(builder.udiv(builder.sub(way, one), size), one)
        return Made(Range, parts=(start, builder.select(builder.icmp_signed(">", way, nothing), length, nothing), step))
