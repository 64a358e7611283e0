"""The text of a loop in LLVM's language: what it says statement by statement, with a place to go on from.

A number of the text is an integer of 64 bits, a double or a bool. An integer that the text has not settled yet may be
beyond 64 bits: what is left of it here is what settling makes of it. What the text leaves to the interpreter ends it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir

from smemviz.engines.lockstep.python.one_thread.native.board import (
    BEGAN,
    DUE,
    END,
    FAR,
    GROUPS,
    LEAST,
    LEFT_OF,
    LINE,
    MOST,
    NOTED,
    OTHER,
    PRINT,
    RESUME,
    RETURNED,
    SCOPE,
    STOP,
    STORED,
    TURN,
    WHOLE,
)
from smemviz.engines.lockstep.python.one_thread.native.functions import Failed
from smemviz.engines.lockstep.python.one_thread.native.in_order import InOrder
from smemviz.engines.lockstep.python.one_thread.native.kinds import INT, Made, NotNativeError, Range, Unsigned

_LEFT = re.compile(
    r"R\d*\.(load|store|locate|write|atomic|place|item|unpack|fill|no_step|end)\(|F\.read\("
)  # only one thread alone does it
_SETUP = re.compile(r"it = M\.iterations|M\.iterations = it|R\d+ = R\.within\(\w+\)|.* = bound|pass")
_PRINTS = re.compile(r"R(\d*)\.prints")
_TEMPORARY = re.compile(r"t\d+")  # what the writer settles; what a kernel assigns itself is a variable
BUFFERS = {"=group": GROUPS, "=noted": NOTED, "=stored": STORED, "=whole": WHOLE}  # by the variables that count them


@dataclass
class _Loop:
    """A loop that is being written: where its next turn begins, and what is behind it."""

    again: ir.Block
    behind: ir.Block


@dataclass(frozen=True)
class Translated:
    """The module of a text, and where in what a thread keeps each of its variables is; ``kinds`` are their types."""

    module: ir.Module
    places: Mapping[str, int]
    kinds: Mapping[str, Any]
    size: int
    items: int
    """How many items a turn notes at most."""
    python: Sequence[Any]
    """Functions that it calls by their addresses."""
    failed: Failed
    prints: Sequence[tuple[str, Sequence[str]]]
    """What it prints: the name of a constant, and the variables of the numbers."""
    deep: int
    """How many numbers tell when an access comes that waits for others."""


@dataclass
class Translator(InOrder):
    """Translates a text; ``resumed`` are the places to go on from, ``items`` how much it notes."""

    resumed: list[ir.Block] = field(default_factory=list)
    loops: list[_Loop] = field(default_factory=list)
    items: int = 0
    prints: list[tuple[str, list[str]]] = field(default_factory=list)

    def translate(self, text: str, given: Mapping[str, Any]) -> Translated:
        """Translate; ``given`` are the types of the variables that it begins with.

        Raises:
            NotNativeError: for what is left to Python.
        """
        module = ir.Module("loop")
        function = ir.Function(module, ir.FunctionType(INT, [INT.as_pointer()]), "loop")
        self.state, self.module = function.args[0], module
        self.state.add_attribute("noalias")
        entry, begin, self.leave = (function.append_basic_block(name) for name in ("entry", "begin", "leave"))
        self.allocas, self.builder = ir.IRBuilder(entry), ir.IRBuilder(begin)
        self.reason = self.allocas.alloca(INT)
        (definition,) = ast.parse(text).body
        assert isinstance(definition, ast.FunctionDef)
        self.look_for_waits(definition)
        for name in BUFFERS:
            self.variable(name, INT)
        for name, kind in given.items():
            self.variable(name, kind)
        self.block(definition.body)
        if not self.is_over:
            raise NotNativeError
        moved = {} if self.deep else self.places
        self._restore(begin, moved)
        self._keep(moved)
        of_state = self.places, self.kinds, self.size, max(self.items, 1)
        return Translated(module, *of_state, self.python, self.failed, self.prints, self.deep)

    def _restore(self, begin: ir.Block, places: Mapping[str, int]) -> None:
        builder = self.allocas
        for name, place in places.items():
            for number, cell in enumerate(self.cells[name]):
                builder.store(self.as_kind(builder, builder.load(self.slot(builder, place + number)), cell), cell)
        where = builder.switch(builder.load(self.slot(builder, RESUME)), begin)
        for number, block in enumerate(self.resumed):
            where.add_case(ir.Constant(INT, number + 1), block)

    def _keep(self, places: Mapping[str, int]) -> None:
        builder = ir.IRBuilder(self.leave)
        for name, place in places.items():
            for number, cell in enumerate(self.cells[name]):
                builder.store(self.as_int(builder, builder.load(cell)), self.slot(builder, place + number))
        builder.ret(builder.load(self.reason))

    @property
    def is_over(self) -> bool:
        """Whether what was written last goes on elsewhere."""
        return bool(self.builder.block.is_terminated)

    # -- statements

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Translate statements, those that are reached."""
        for statement in statements:
            if self.is_over:
                return
            text = ast.unparse(statement) if isinstance(statement, ast.Assign | ast.Expr | ast.Pass) else ""
            if _LEFT.search(text):
                self._end(FAR)
            elif not text or not _SETUP.fullmatch(text):
                rule = getattr(self, f"_{type(statement).__name__.lower()}", None)
                if rule is None:
                    raise NotNativeError
                rule(statement)

    def go_another_way(self) -> None:
        """Leave the whole loop to the text, which does what is done here."""
        self._end(OTHER)

    def _end(self, reason: int) -> None:
        self.builder.store(ir.Constant(INT, reason), self.reason)
        self.builder.branch(self.leave)

    def pause(self, reason: int) -> None:
        """Return, and go on from here when called again."""
        self.put(RESUME, ir.Constant(INT, len(self.resumed) + 1))
        self._end(reason)
        after = self.builder.append_basic_block()
        self.resumed.append(after)
        self.builder = ir.IRBuilder(after)

    def put(self, place: int, number: ir.Value) -> None:
        """Store an integer where who calls finds it."""
        self.builder.store(number, self.slot(self.builder, place))

    def _assign(self, node: ast.Assign) -> None:
        (target,) = node.targets
        value = node.value
        if isinstance(target, ast.Tuple):
            if not isinstance(value, ast.Tuple) or len(target.elts) != len(value.elts):
                raise NotNativeError
            made = [None if _is_none(part) else self.value(part) for part in value.elts]
            for part, one in zip(target.elts, made, strict=True):
                if not isinstance(part, ast.Name):
                    raise NotNativeError
                if one is not None:
                    self.assign(part.id, one)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            self.store(target.value.id, target.slice, self.value(value))
        elif isinstance(target, ast.Attribute):
            self._tell(ast.unparse(target), value)
        elif isinstance(target, ast.Name):
            call = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
            if call == "M.begin_while":
                self._begin_while(target.id, value)
            elif isinstance(value, ast.Call) and call.startswith("R") and call.endswith(".due"):
                self._due(target.id, value, call)
            else:
                self.assign(target.id, self.value(value))
        else:
            raise NotNativeError

    def _tell(self, what: str, value: ast.expr) -> None:
        if what == "M.while_began":
            self.put(BEGAN, self.integer(value))
        elif what == "P.least" and isinstance(value, ast.Call):
            self.put(LEAST, self.integer(value.args[1]))
        else:
            raise NotNativeError

    def _begin_while(self, name: str, call: ast.expr) -> None:
        """Note that a loop with a condition begins, unless it is in one: -1 stands for None."""
        assert isinstance(call, ast.Call)
        outer = self.builder.load(self.slot(self.builder, BEGAN))
        self.assign(name, Made(INT, outer))
        is_first = self.builder.icmp_signed("==", outer, ir.Constant(INT, -1))
        self.put(BEGAN, self.builder.select(is_first, self.integer(call.args[0]), outer))

    def _due(self, name: str, call: ast.Call, function: str) -> None:
        """Return to have the turns counted; who calls puts in ``due`` when that is to be done again."""
        if name != "due":
            raise NotNativeError
        self.put(TURN, self.integer(call.args[0]))
        self.put(LINE, self.integer(call.args[1]))
        self.put(SCOPE, ir.Constant(INT, int(function[1:-4] or 0)))
        self.pause(DUE)

    def _of_attribute(self, node: ast.Attribute) -> Made:
        if ast.unparse(node) != "P.stop":
            return super()._of_attribute(node)
        return Made(INT, self.builder.load(self.slot(self.builder, MOST)))

    def _augassign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise NotNativeError
        if node.target.id == "noted":
            items = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for item in items:
                self._append("=noted", self.integer(item))
            return
        self.assign(node.target.id, self.operate(node.op, self.read(node.target.id), self.value(node.value)))

    def _expr(self, node: ast.Expr) -> None:
        value = node.value
        if isinstance(value, ast.Yield) and isinstance(value.value, ast.Tuple):
            turn, left, _ = value.value.elts
            self.put(TURN, self.integer(turn))
            if not _is_none(left):
                part = self.value(left)
                self.assign("=left", part)
            self.put(LEFT_OF, ir.Constant(INT, int(not _is_none(left))))
            self.pause(STOP)
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("note", "group"):
            self._append("=group" if value.func.id == "group" else "=noted", self.integer(value.args[0]))
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "stored":
            made = self.value(value.args[0])
            number, whole = self.as_real(made), self.as_whole(made)
            self._append("=stored", self.builder.bitcast(number, INT))
            self._append("=whole", whole)
        elif isinstance(value, ast.Call) and self.in_order(value):
            pass
        elif isinstance(value, ast.Call) and (printing := _PRINTS.fullmatch(ast.unparse(value.func))):
            self._print(value, int(printing[1] or 0))
        else:
            raise NotNativeError

    def _print(self, call: ast.Call, scope: int) -> None:
        """Return to have something printed, of which the numbers are in variables of their own."""
        parts, *numbers = call.args
        names = [f"=print{len(self.prints)}.{number}" for number in range(len(numbers))]
        for name, number in zip(names, numbers, strict=True):
            self.assign(name, self.value(number))
        self.put(LINE, ir.Constant(INT, len(self.prints)))
        self.put(SCOPE, ir.Constant(INT, scope))
        self.prints.append((ast.unparse(parts), names))
        self.pause(PRINT)

    def _append(self, name: str, item: ir.Value) -> None:
        """Put an item behind others that are noted; who calls has seen to it that there is room."""
        self.items += 1
        builder, count = self.builder, self.cells[name][0]
        at = builder.load(count)
        items = builder.inttoptr(builder.load(self.slot(builder, BUFFERS[name])), INT.as_pointer())
        builder.store(item, builder.gep(items, [at]))
        builder.store(builder.add(at, ir.Constant(INT, 1)), count)

    def _if(self, node: ast.If) -> None:
        bits = _wrapped_bits(node)
        if bits is not None:
            name, width, is_signed = bits
            kind = Unsigned if width == INT.width and not is_signed else INT
            self.settle(name, Made(kind, self.wrapped(self.as_whole(self.read(name)), width, is_signed=is_signed)))
            return
        test = self.truth(node.test)
        then, otherwise, behind = (self.builder.append_basic_block() for _ in range(3))
        self.builder.cbranch(test, then, otherwise)
        for block, part in ((then, node.body), (otherwise, node.orelse)):
            self.builder = ir.IRBuilder(block)
            self.block(part)
            if not self.is_over:
                self.builder.branch(behind)
        self.builder = ir.IRBuilder(behind)

    # -- loops

    def _while(self, node: ast.While) -> None:
        if not (isinstance(node.test, ast.Constant) and node.test.value is True) or node.orelse:
            raise NotNativeError
        again, behind = self.builder.append_basic_block(), self.builder.append_basic_block()
        self.builder.branch(again)
        self.builder = ir.IRBuilder(again)
        self._turn(node.body, _Loop(again, behind), again)
        self.builder = ir.IRBuilder(behind)

    def _turn(self, body: Sequence[ast.stmt], loop: _Loop, end: ir.Block) -> None:
        self.loops.append(loop)
        self.block(body)
        self.loops.pop()
        if not self.is_over:
            self.builder.branch(end)

    def _for(self, node: ast.For) -> None:
        if not isinstance(node.target, ast.Name):
            raise NotNativeError
        numbers = self.value(node.iter)
        if numbers.kind is not Range:
            raise NotNativeError
        name = f"=for{len(self.kinds)}"
        self.assign(f"{name}n", Made(INT, ir.Constant(INT, 0)))
        self.assign(name, numbers)
        again, turn, ended, behind = (self.builder.append_basic_block() for _ in range(4))
        self.builder.branch(again)
        self.builder = builder = ir.IRBuilder(again)
        start, length, step = (builder.load(cell) for cell in self.cells[name][:3])
        count = self.cells[f"{name}n"][0]
        done = builder.load(count)
        builder.cbranch(builder.icmp_signed("<", done, length), turn, ended)
        self.builder = builder = ir.IRBuilder(turn)
        builder.store(builder.add(done, ir.Constant(INT, 1)), count)
        self.assign(node.target.id, Made(INT, builder.add(start, builder.mul(done, step))))
        self._turn(node.body, _Loop(again, behind), again)
        self.builder = ir.IRBuilder(ended)
        self.block(node.orelse)
        if not self.is_over:
            self.builder.branch(behind)
        self.builder = ir.IRBuilder(behind)

    def _break(self, node: ast.Break) -> None:
        self.builder.branch(self.loops[-1].behind)

    def _continue(self, node: ast.Continue) -> None:
        self.builder.branch(self.loops[-1].again)

    def _return(self, node: ast.Return) -> None:
        if not (isinstance(node.value, ast.Tuple) and isinstance(node.value.elts[0], ast.Constant)):
            raise NotNativeError
        self._end(END if node.value.elts[0].value else RETURNED)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _wrapped_bits(node: ast.If) -> tuple[str, int, bool] | None:
    """Return the variable that a statement settles, how many bits it has then and whether it may be negative."""
    if len(node.body) != 1 or node.orelse or not isinstance(node.body[0], ast.Assign):
        return None
    target, value = node.body[0].targets[0], node.body[0].value
    if not isinstance(target, ast.Name) or not isinstance(value, ast.BinOp):
        return None
    try:
        match value:
            case ast.BinOp(ast.BinOp(ast.BinOp(ast.Name(name), ast.Sub(), low), ast.Mod(), size), ast.Add(), end):
                least, many = ast.literal_eval(low), ast.literal_eval(size)
                is_signed = 2 * least == -many and ast.literal_eval(end) == least
                width = many.bit_length() - 1
            case ast.BinOp(ast.Name(name), ast.BitAnd(), high):
                many, is_signed = ast.literal_eval(high) + 1, False
                width = many.bit_length() - 1
            case _:
                return None
    except ValueError:
        return None
    if name != target.id or not _TEMPORARY.fullmatch(name) or many != 1 << width:
        return None
    if isinstance(value.op, ast.Add) and not is_signed:
        raise NotNativeError
    return name, width, is_signed
