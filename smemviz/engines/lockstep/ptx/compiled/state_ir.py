"""Vectors of a number for each lane in LLVM IR, and how compiled kernels reach the state and what they call."""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from smemviz.engines.lockstep.ptx.code.module import SIZES
from smemviz.engines.lockstep.ptx.compiled import state as s
from smemviz.engines.lockstep.ptx.special import CYCLES_OF_A_READING

LANES = 32
BIT, WORD, LONG = ir.IntType(1), ir.IntType(32), ir.IntType(64)
POINTER = ir.PointerType()
_BYTE = ir.IntType(8)
FLOATS = {"f16": ir.HalfType(), "f32": ir.FloatType(), "tf32": ir.FloatType(), "f64": ir.DoubleType()}


class NotCompiledError(Exception):
    """An instruction that is left to NumPy."""


def vector(kind: Any) -> Any:
    """Return a vector of one element a lane, of an LLVM type or of a type of PTX."""
    if isinstance(kind, str):
        kind = BIT if kind == "pred" else FLOATS.get(kind) or ir.IntType(8 * SIZES[kind])
    return ir.VectorType(kind, LANES)


def constant(kind: Any, value: Any) -> Any:
    """Return the same number in all lanes."""
    whole = kind if isinstance(kind, ir.VectorType) else vector(kind)
    return ir.Constant(whole, [value] * LANES)


def _suffix(kind: Any) -> str:
    names = {ir.HalfType(): "f16", ir.FloatType(): "f32", ir.DoubleType(): "f64"}
    return names.get(kind) or f"i{kind.width}"


class StateIr:
    """Instructions that reach the state of a launch, and call what is compiled elsewhere.

    ``state`` is its address in the IR, ``scratch`` that of its scratch memory, ``running`` the lanes that run.
    """

    b: ir.IRBuilder
    module: ir.Module
    state: Any
    state_number: Any
    scratch: Any
    permute_at: int
    match_at: int

    @property
    def running(self) -> Any:
        """The lanes that run and for which the instruction's guard holds, as bits."""
        raise NotImplementedError

    def number_in_state(self, index: int) -> Any:
        return self.b.load(self.place(self.state, 8 * index), typ=LONG, align=8)

    def set_in_state(self, index: int, value: Any) -> None:
        self.b.store(value, self.place(self.state, 8 * index), align=8)

    def place(self, pointer: Any, offset: Any) -> Any:
        return self.b.gep(pointer, [offset if isinstance(offset, ir.Value) else LONG(offset)], source_etype=_BYTE)

    def splat(self, value: Any, kind: Any = None) -> Any:
        """Return a number as a vector with it in all lanes."""
        whole = ir.VectorType(kind or value.type, LANES)
        one = self.b.insert_element(ir.Constant(whole, ir.Undefined), value, WORD(0))
        return self.b.shuffle_vector(one, ir.Constant(whole, ir.Undefined), constant(WORD, 0))

    def scratch_at(self, offset: int) -> Any:
        return self.place(self.scratch, offset)

    def called(self, address: int, arguments: Sequence[Any]) -> Any:
        name = f"at_{address:x}"
        function = self.module.globals.get(name) or ir.Function(self.module, ir.FunctionType(LONG, [LONG] * 3), name)
        return self.b.call(function, arguments)

    def ticked(self) -> Any:
        """Return what a clock shows when a warp reads it: more than the last time, so that who waits for it ends."""
        cycles = self.b.add(self.number_in_state(s.CYCLES), LONG(CYCLES_OF_A_READING))
        self.set_in_state(s.CYCLES, cycles)
        return cycles

    def loaded(self, piece: int, width: int) -> Any:
        """Return what an access has loaded, one of its pieces."""
        return self.b.load(self.scratch_at(s.FIRST + LANES * width * piece), typ=vector(ir.IntType(8 * width)), align=8)

    def permuted(self, value: Any, sources: Any) -> Any:
        """Return for each lane the 32 bits of the lane that ``sources`` names."""
        self.b.store(value, self.scratch_at(s.FIRST), align=8)
        self.b.store(sources, self.scratch_at(s.SECOND), align=8)
        self.called(self.permute_at, [self.state_number, LONG(0), LONG(0)])
        return self.loaded(0, 4)

    def matched(self, value: Any) -> Any:
        """Return for each lane which of the lanes that run have its value."""
        whole = value if value.type.element == LONG else self.b.zext(value, vector(LONG))
        self.b.store(whole, self.scratch_at(s.FIRST), align=8)
        self.called(self.match_at, [self.state_number, LONG(0), self.b.zext(self.running, LONG)])
        return self.loaded(0, 4)

    def reduced(self, name: str, value: Any) -> Any:
        """Return one number of all lanes' words."""
        full = f"llvm.vector.reduce.{name}.v{LANES}i32"
        function = self.module.globals.get(full) or ir.Function(self.module, ir.FunctionType(WORD, [value.type]), full)
        return self.b.call(function, [value])

    def intrinsic(self, name: str, *arguments: Any, flags: Sequence[Any] = ()) -> Any:
        """Call an intrinsic of LLVM that takes and returns vectors of one type."""
        kind = arguments[0].type
        full = f"llvm.{name}.v{LANES}{_suffix(kind.element)}"
        types = [argument.type for argument in (*arguments, *flags)]
        function = self.module.globals.get(full) or ir.Function(self.module, ir.FunctionType(kind, types), full)
        return self.b.call(function, [*arguments, *flags])
