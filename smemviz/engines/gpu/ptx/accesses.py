"""The accesses of a kernel, as a rewritten entry reports them: those of its instructions, for CUDA C++."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from smemviz.engines.lockstep.ptx.code.module import (
    Address,
    Group,
    Instruction,
    Number,
    Operand,
    PtxError,
    Register,
    Variable,
)
from smemviz.engines.lockstep.ptx.instructions.copies import source_size
from smemviz.engines.lockstep.ptx.kernel import Kernel, pointers_to_shared
from smemviz.engines.lockstep.ptx.sites import SiteMap
from smemviz.recordings.data import WARP_SIZE, Site, Space
from smemviz.recordings.vocabulary import BULK

_OF_LOCKSTEP_ALONE = {"wgmma", *BULK}  # tensor maps and descriptors are read in lockstep's own way


@dataclass(frozen=True)
class Access:
    """One access that an instruction makes: where, by which lanes, what is stored there, and as which sites.

    There is a site for each memory that it may mean; the address ``is_generic`` where it says by itself which. Lanes
    make none where ``bytes_read`` is 0, or is a predicate that holds.
    """

    address: Address
    is_generic: bool
    lanes: int
    value: Operand | None
    sites: dict[Space, int]
    bytes_read: Operand | None = None


class Accesses(ABC):
    """The accesses of one entry, and the sites that they are.

    Of its ``shared`` variables it is noted where they lie. Where it ``waits_for_grid`` it does so in memory of its own.
    """

    waits_for_grid = False
    shared: tuple[Variable, ...] = ()

    def __init__(self, sites: Sequence[Site]) -> None:
        self.sites = tuple(sites)

    @abstractmethod
    def of(self, instruction: Instruction) -> list[Access]:
        """Return the accesses that are made where an instruction stands, in the order in which lockstep notes them.

        Raises:
            PtxError: when the instruction names no address for one of them.
        """

    def array(self, instruction: Instruction) -> tuple[int, Operand] | None:
        """Return the number of a shared array and what holds where it begins, if an instruction tells that."""
        return None

    def is_mark(self, instruction: Instruction) -> bool:
        """Tell whether an instruction is there to say something and does nothing."""
        return False


class Instructions(Accesses):
    """The accesses that the instructions of an entry make."""

    def __init__(self, kernel: Kernel, sites: SiteMap) -> None:
        super().__init__(sites.sites)
        self._kernel = kernel
        self._numbers = sites
        self.shared = kernel.shared
        self.waits_for_grid = any("%envreg1" in instruction.text for instruction in kernel.body)
        self._of_shared = pointers_to_shared(kernel.makers)

    def of(self, instruction: Instruction) -> list[Access]:
        """Return the accesses of an instruction that are sites."""
        numbers = self._kernel.sites_of(instruction)
        places = [operand for operand in instruction.operands if isinstance(operand, Address)]
        bytes_read: list[Operand | None] = [None] * len(numbers)
        if instruction.opcode == "cp" and len(numbers) == 2:  # loads the second, then stores to the first
            places = places[::-1]
            bytes_read[0] = source_size(instruction)
        of_lockstep_alone = any(self._kernel.memory[raw].op in _OF_LOCKSTEP_ALONE for raw in numbers)
        if of_lockstep_alone or len(places) < len(numbers):
            what = f"{'.'.join(instruction.words)} is not counted on the GPU; use --engine lockstep"
            raise PtxError(what, instruction.place)
        matrices = instruction.opcode in ("ldmatrix", "stmatrix")
        lanes = 8 * int(instruction.one_of("x1", "x2", "x4")[1]) if matrices else WARP_SIZE
        reported = []
        for raw, place, read in zip(numbers, places, bytes_read, strict=False):
            space = self._kernel.memory[raw].space
            held = {where: self._numbers.number(raw, where) for where in self._spaces(space, place)}
            reported.append(Access(place, space == "generic", lanes, _stored(instruction), held, read))
        return reported

    def _spaces(self, space: str, place: Address) -> tuple[Space, ...]:
        if space != "generic":
            return ("shared",) if space == "shared" else ("global",)
        is_of_shared = isinstance(place.base, Register) and place.base.name in self._of_shared
        return ("shared",) if is_of_shared else ("global", "shared")


def _stored(instruction: Instruction) -> Operand | None:
    """Return the one value that a store stores, None where there are several or none."""
    if instruction.opcode != "st":
        return None
    value = instruction.operands[1]
    if isinstance(value, Group):
        value = value.items[0] if len(value.items) == 1 else instruction.operands[1]
    return value if isinstance(value, Register | Number) else None


ACCESS = "smemviz_access"  # .space, the number of the site, the address, and what is stored if that is to be known
ARRAY = "smemviz_array"  # the number of a shared array, and where it begins


class Marks(Accesses):
    """The accesses that marks tell of."""

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
        return instruction.opcode in (ACCESS, ARRAY)
