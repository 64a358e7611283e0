"""The accesses of a kernel that are marked in its PTX, as ``engines.gpu.marks`` marks those of Numba kernels."""

from __future__ import annotations

from collections.abc import Sequence

from smemviz.engines.gpu.ptx.accesses import Access, Accesses
from smemviz.engines.lockstep.ptx.code.module import Address, Instruction, Number, Operand, PtxError
from smemviz.engines.lockstep.ptx.kernel import Kernel
from smemviz.recordings.data import WARP_SIZE, Site

ACCESS = "smemviz_access"  # .space, the number of the site, the address, and what is stored if that is to be known
ARRAY = "smemviz_array"  # the number of a shared array, and where it begins
ROUND = "smemviz_round"  # of a loop, which keeps the compiler from writing out several


class Marks(Accesses):
    """The accesses that marks tell of; the last parameter of the kernel is there for what it is told of its launch."""

    def __init__(self, kernel: Kernel, sites: Sequence[Site]) -> None:
        super().__init__(sites, kernel.function.parameters[-1].name)

    def of(self, instruction: Instruction) -> list[Access]:
        """Return the access that a mark tells of."""
        if instruction.opcode != ACCESS:
            return []
        match instruction.words[1], instruction.operands:
            case "shared" | "global" as space, (Number(value=number), Address() as place, *stored):
                return [Access(place, False, WARP_SIZE, stored[0] if stored else None, {space: number})]
        raise PtxError(f"{instruction.text} is no mark", instruction.place)

    def array(self, instruction: Instruction) -> tuple[int, Operand] | None:
        """Return the number of the shared array that a mark tells of, and what holds where it begins."""
        match instruction.opcode == ARRAY and instruction.operands:
            case (Number(value=number), place):
                return number, place
        return None

    def is_mark(self, instruction: Instruction) -> bool:
        """Tell whether an instruction is a mark, which no device knows."""
        return instruction.opcode in (ACCESS, ARRAY, ROUND)
