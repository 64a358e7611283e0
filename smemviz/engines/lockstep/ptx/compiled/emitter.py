"""A kernel as LLVM IR: a function that runs a warp, each instruction an operation on vectors of 32 lanes.

Of the lanes that can run those at the lowest block go first. What a block computes stays in its values. Registers that
other blocks read are in memory, where only the lanes that run change. Lanes that do not run compute too, with whatever
is there; what they get is not kept.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from smemviz.engines.lockstep.ptx.code.blocks import Block
from smemviz.engines.lockstep.ptx.code.module import (
    SIZES,
    Address,
    Changed,
    Instruction,
    Nowhere,
    Number,
    Operand,
    Place,
    Register,
    Special,
    Symbol,
)
from smemviz.engines.lockstep.ptx.compiled import state as s
from smemviz.engines.lockstep.ptx.compiled.kept import ended, kept_registers
from smemviz.engines.lockstep.ptx.compiled.lanes_ir import LanesIr
from smemviz.engines.lockstep.ptx.compiled.state_ir import (
    BIT,
    FLOATS,
    LANES,
    LONG,
    POINTER,
    WORD,
    NotCompiledError,
    constant,
    vector,
)
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.engines.lockstep.ptx.scheduler import MOST_VISITS, returning
from smemviz.engines.lockstep.ptx.special import CLOCKS
from smemviz.engines.lockstep.ptx.steps import may_wait

_ROWS = ("tid.x", "tid.y", "tid.z", "laneid", "warpid")
_SCALARS = ("ntid.", "nctaid.", "nwarpid", "smid", "nsmid", "dynamic_smem_size", "total_smem_size", "reserved_smem_")
_MOST_TARGETS = 64

Emit = Callable[["Emitter", Instruction], None]
Operation = list[int]


class Emitter(LanesIr):
    """Emits one kernel; ``registers_bytes`` is what the registers of a warp take, ``named`` what the state tells.

    ``named`` are ("special", name), ("symbol", name) and ("parameter", name) in their order from ``state.TABLE`` on,
    ``operations`` the accesses and ``barriers`` the barriers as ``state`` has them.
    """

    def __init__(self, kernel: Kernel, table: dict[str, Emit], access_at: int, permute_at: int, match_at: int) -> None:
        self.kernel = kernel
        self.named: dict[tuple[str, str], int] = {}
        self.operations: list[Operation] = []
        self.barriers: list[list[int]] = []
        self._places: dict[Place, int] = {}  # of barriers
        self._table = table
        self._access_at, self.permute_at, self.match_at = access_at, permute_at, match_at
        self._offsets, self.registers_bytes = kept_registers(kernel)
        self.module = ir.Module()
        self.function = ir.Function(self.module, ir.FunctionType(LONG, [LONG] * 4), "run_warp")
        self._emit()

    # -- the function

    def _emit(self) -> None:
        state, at, registers, of_warp = self.function.args
        blocks = self.kernel.blocks
        ending = returning(blocks)
        end = len(blocks)
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.state = self.b.inttoptr(state, POINTER)
        self.at = self.b.inttoptr(at, POINTER)
        self._registers = self.b.inttoptr(registers, POINTER)
        self.its_warp = self.b.inttoptr(of_warp, POINTER)
        self.state_number = state
        self.scratch = self.b.inttoptr(self.number_in_state(s.SCRATCH), POINTER)
        self.warp = self.number_in_state(s.WARP)
        self.choosing = self.function.append_basic_block("choose")
        self._next = self.function.append_basic_block("next")
        go = self.function.append_basic_block("go")
        leave = self.function.append_basic_block("leave")
        self._ask = self.function.append_basic_block("ask")
        self.suspect = self.function.append_basic_block("suspect")
        self.b.branch(self.choosing)
        self.b.position_at_end(self.choosing)
        lowest = self.choose_lanes(end)
        chosen = self.b.block
        nobody = self.function.append_basic_block("nobody")
        self.b.cbranch(self.b.icmp_unsigned("<", lowest, LONG(end)), go, nobody)
        self.b.position_at_end(nobody)
        self.b.ret(LONG(s.GO_ON))
        # Everybody goes to one block, which runs at once unless others of the warp are there or before it.
        self.b.position_at_end(self._next)
        self._target = self.b.phi(LONG)
        self.b.cbranch(self.b.icmp_signed("<", self._target, self.limit), go, leave)
        self.b.position_at_end(leave)
        self.send(self._target)
        self.note_end(self.b.icmp_unsigned("==", self._target, LONG(end)))
        self.b.branch(self.choosing)
        self.b.position_at_end(go)
        where = self.b.phi(LONG)
        where.add_incoming(lowest, chosen)
        where.add_incoming(self._target, self._next)
        fuel = self.b.sub(self.number_in_state(s.FUEL), LONG(1))
        self.set_in_state(s.FUEL, fuel)
        self.set_in_state(s.LAST, where)
        has_room = self.b.icmp_signed("<", self.number_in_state(s.ROWS), self.number_in_state(s.ROWS_LIMIT))
        run = self.function.append_basic_block("run")
        self.b.cbranch(self.b.and_(has_room, self.b.icmp_signed(">=", fuel, LONG(0))), run, self._ask)
        self.b.position_at_end(self._ask)
        self.send(where)
        self.b.ret(LONG(s.ASK))
        self.b.position_at_end(self.suspect)
        self.b.ret(LONG(s.SUSPECT))
        self.b.position_at_end(run)
        choose = self.b.switch(where, self.suspect)
        for index, block in enumerate(blocks):
            begin = self.function.append_basic_block(f"block{index}")
            choose.add_case(LONG(index), begin)
            self.b.position_at_end(begin)
            self._block(ended(block, ending, end), end)

    # -- blocks

    def _block(self, block: Block, end: int) -> None:
        self._known: dict[str, Any] = {}
        self._written: set[str] = set()
        self.carry: Any = None  # of the instruction before
        if may_wait(block):
            in_vain = self.b.add(self.number_in_state(s.IN_VAIN), LONG(1))
            self.set_in_state(s.IN_VAIN, in_vain)
            goes_on = self.function.append_basic_block("goes_on")
            self.b.cbranch(self.b.icmp_signed("<", in_vain, LONG(MOST_VISITS)), goes_on, self.suspect)
            self.b.position_at_end(goes_on)
        for instruction in block.body:
            self._instruction(instruction)
        self._end(block, end)

    def _instruction(self, instruction: Instruction) -> None:
        emit = self._table.get(instruction.opcode)
        if emit is None:
            raise NotCompiledError(instruction.text)
        self.guard: Any = None
        if instruction.guard is not None:
            test = self.read(instruction.guard.register, "pred")
            self.guard = self.b.not_(test) if instruction.guard.negated else test
        try:
            emit(self, instruction)
        except (KeyError, ValueError, IndexError, AttributeError, TypeError) as error:
            raise NotCompiledError(instruction.text) from error
        self.guard = None

    def _end(self, block: Block, end: int) -> None:
        instruction = block.end
        test = None
        if instruction is not None and instruction.guard is not None:
            test = self.read(instruction.guard.register, "pred")
            test = self.b.not_(test) if instruction.guard.negated else test
        if instruction is not None and instruction.opcode in ("bar", "barrier"):
            self._barrier(instruction, block)
            return
        if instruction is not None and instruction.opcode == "trap":
            self.b.branch(self.suspect)
            return
        chosen = None
        if instruction is not None and instruction.opcode == "brx":
            if test is not None or len(block.targets) > _MOST_TARGETS:
                raise NotCompiledError(instruction.text)
            index = self.read(instruction.operands[0], "u32")
            chosen = constant(WORD, block.targets[-1])
            for number, target in enumerate(block.targets[:-1]):
                is_it = self.b.icmp_unsigned("==", index, constant(WORD, number))
                chosen = self.b.select(is_it, constant(WORD, target), chosen)
        self._store_registers()
        if chosen is not None:
            self.send(chosen)
            if end in block.targets:
                self.note_end()
            self.b.branch(self.choosing)
            return
        if instruction is None:
            self._go(LONG(block.following))
            return
        target = block.targets[0] if instruction.opcode == "bra" else end
        if test is None:
            self._go(LONG(target))
            return
        taken = self.b.and_(self.b.bitcast(test, WORD), self.mask)
        all_taken = self.b.icmp_unsigned("==", taken, self.mask)
        none_taken = self.b.icmp_unsigned("==", taken, WORD(0))
        apart = self.function.append_basic_block("apart")
        together = self.function.append_basic_block("together")
        self.b.cbranch(self.b.or_(all_taken, none_taken), together, apart)
        self.b.position_at_end(apart)
        self.send(self.b.select(test, constant(WORD, target), constant(WORD, block.following)))
        if end in (target, block.following):
            self.note_end()
        self.b.branch(self.choosing)
        self.b.position_at_end(together)
        self._go(self.b.select(all_taken, LONG(target), LONG(block.following)))

    def _go(self, target: Any) -> None:
        self._target.add_incoming(target, self.b.block)
        self.b.branch(self._next)

    def _barrier(self, instruction: Instruction, block: Block) -> None:
        if instruction.guard is not None or instruction.has("cluster", "arrive"):
            raise NotCompiledError(instruction.text)
        place = self._places.setdefault(instruction.place, len(self._places))
        operands = instruction.operands
        of_warp = instruction.has("warp")
        barrier = [s.NOTHING, place, 0, 0]
        number: Operand = Number(0)
        if instruction.has("red"):
            what = instruction.one_of("popc", "and", "or")
            destination, number, *count, test = operands
            if count or not isinstance(destination, Register):
                raise NotCompiledError(instruction.text)
            barrier[s.REDUCTION] = {"popc": s.COUNTS, "and": s.ALL, "or": s.ANY}[what]
            barrier[s.RESULT] = self._offsets[destination.name]
            barrier[s.IS_COUNT] = what == "popc"
            bits = self.b.and_(self.b.bitcast(self.read(test, "pred"), WORD), self.mask)
            self.set_of_warp(s.TESTS, self.b.or_(self.get_of_warp(s.TESTS), bits))
        elif not of_warp and operands:
            number = operands[0]
            if len(operands) > 1:
                raise NotCompiledError(instruction.text)
        value = self.kernel.number(number)
        if value is None:
            raise NotCompiledError(instruction.text)
        self._store_registers()
        if of_warp:
            self.wait_for_warp(block.following)
            return
        self.wait_for_block(len(self.barriers), block.following)
        self.barriers.append([*barrier, value])

    # -- registers

    def _raw(self, name: str) -> Any:
        """Return the bits of a register."""
        if name in self._known:
            return self._known[name]
        kind = self.kernel.registers[name]
        place = self.place(self._registers, self._offsets[name])
        if kind == "pred":
            value = self.b.bitcast(self.b.load(place, typ=WORD, align=4), vector(BIT))
        else:
            value = self.b.load(place, typ=vector(ir.IntType(8 * SIZES[kind])), align=4)
        self._known[name] = value
        return value

    def _store_registers(self) -> None:
        for name in sorted(self._written & self._offsets.keys()):
            value, place = self._known[name], self.place(self._registers, self._offsets[name])
            if self.kernel.registers[name] == "pred":
                before = self.b.load(place, typ=WORD, align=4)
                bits = self.b.bitcast(value, WORD)
                kept = self.b.and_(before, self.b.not_(self.mask))
                self.b.store(self.b.or_(kept, self.b.and_(bits, self.mask)), place, align=4)
            else:
                before = self.b.load(place, typ=value.type, align=4)
                self.b.store(self.b.select(self.on, value, before), place, align=4)

    def read(self, operand: Operand, kind: str) -> Any:
        """Return an operand as a vector of a type of PTX."""
        match operand:
            case Register(name=name):
                return self._as(self._raw(name), kind)
            case Changed(sign="-", inner=inner):
                value = self.read(inner, kind)
                return self.b.fneg(value) if kind in FLOATS else self.b.neg(value)
            case Changed(inner=inner):
                return self.b.not_(self.read(inner, kind))
            case Number():
                return self._number(operand, kind)
            case Special(name=name):
                return self._special(name, kind)
            case Symbol(name=name, offset=offset):
                address = self.b.add(self.symbol(name), LONG(offset))
                return self._as(self.splat(address), kind)
        raise NotCompiledError(str(operand))

    def _as(self, value: Any, kind: str) -> Any:
        """Return bits as a type that is as wide or narrower."""
        whole = vector(kind)
        if value.type == whole:
            return value
        bits = 8 * SIZES[kind]
        if kind == "pred" or value.type.element == BIT or value.type.element.width < bits:
            raise NotCompiledError(f"{value.type} is not read as {kind}")
        if value.type.element.width > bits:
            value = self.b.trunc(value, vector(ir.IntType(bits)))
        return self.b.bitcast(value, whole) if value.type != whole else value

    def _number(self, number: Number, kind: str) -> Any:
        whole = vector(kind)
        if kind == "pred":
            return constant(BIT, int(bool(number.value)))
        if kind in FLOATS or number.bits:
            if number.bits != 8 * SIZES[kind]:
                raise NotCompiledError(str(number))
            bits = constant(ir.IntType(number.bits), number.value)
            return self.b.bitcast(bits, whole) if bits.type != whole else bits
        return constant(whole, number.value & (1 << 8 * SIZES[kind]) - 1)

    def _special(self, name: str, kind: str) -> Any:
        if name in _ROWS or name.startswith("lanemask_"):
            pointer = self.b.inttoptr(self.in_table("special", name), POINTER)
            place = self.place(pointer, self.b.mul(self.warp, LONG(4 * LANES)))
            value = self.b.load(place, typ=vector(WORD), align=4)
        elif name.startswith("ctaid."):
            value = self.splat(self.b.trunc(self.number_in_state(s.AXES + 3 + "xyz".index(name[-1])), WORD))
        elif name.startswith(_SCALARS):
            value = self.splat(self.b.trunc(self.in_table("special", name), WORD))
        elif name in CLOCKS:
            value = self.splat(self.ticked())
        else:
            raise NotCompiledError(name)
        if kind == "pred" or kind in FLOATS:
            raise NotCompiledError(name)
        own, whole = value.type, vector(ir.IntType(8 * SIZES[kind]))
        resize = self.b.zext if whole.element.width > own.element.width else self.b.trunc
        return value if own == whole else resize(value, whole)

    def in_table(self, what: str, name: str) -> Any:
        """Return what the state tells by a name."""
        return self.number_in_state(s.TABLE + self.named.setdefault((what, name), len(self.named)))

    def symbol(self, name: str) -> Any:
        """Return the address of a variable, one number."""
        if name in self.kernel.local:
            return LONG(self.kernel.local[name])
        return self.in_table("symbol", name)

    def write(self, operand: Operand, kind: str, value: Any) -> None:
        """Leave a vector of a type of PTX in a register."""
        if isinstance(operand, Nowhere):
            return
        assert isinstance(operand, Register)
        declared = self.kernel.registers[operand.name]
        if declared == "pred":
            if value.type.element != BIT:
                raise NotCompiledError(kind)
        else:
            bits = ir.IntType(8 * SIZES[kind])
            if value.type.element != bits:
                value = self.b.bitcast(value, vector(bits))
            own = ir.IntType(8 * SIZES[declared])
            if own.width > bits.width:
                value = (self.b.sext if kind[0] == "s" else self.b.zext)(value, vector(own))
            elif own.width < bits.width:
                value = self.b.trunc(value, vector(own))
        if self.guard is not None:
            value = self.b.select(self.guard, value, self._raw(operand.name))
        self._known[operand.name] = value
        self._written.add(operand.name)

    # -- memory

    def address(self, operand: Operand) -> Any:
        """Return an address as a vector of 64-bit integers."""
        if not isinstance(operand, Address):
            raise NotCompiledError(str(operand))
        base, offset = operand.base, operand.offset
        if isinstance(base, Symbol):
            return self.splat(self.b.add(self.symbol(base.name), LONG(offset)))
        if isinstance(base, Number):
            return constant(LONG, base.value + offset)
        value = self._raw(base.name)
        if offset:
            value = self.b.add(value, constant(value.type, offset))
        return value if value.type.element == LONG else self.b.sext(value, vector(LONG))

    def access(self, operation: Operation, address: Any, stored: Sequence[Any] = (), other: Any = None) -> None:
        """Let the lanes that run touch memory; what they load is in the scratch memory then."""
        self.b.store(address, self.scratch_at(s.AT), align=8)
        width = operation[s.WIDTH]
        for piece, value in enumerate(stored):
            self.b.store(value, self.scratch_at(s.FIRST + LANES * width * piece), align=8)
        if other is not None:
            self.b.store(other, self.scratch_at(s.SECOND), align=8)
        number = len(self.operations)
        self.operations.append(operation)
        mask = self.b.zext(self.running, LONG)
        result = self.called(self._access_at, [self.state_number, LONG(number), mask])
        fine = self.function.append_basic_block("fine")
        self.b.cbranch(self.b.icmp_signed("==", result, LONG(s.GO_ON)), fine, self.suspect)
        self.b.position_at_end(fine)
