"""What registers hold during one round of a loop, as sums of what they held when the round began.

So an address that moves on by the same number of bytes each round is known as one that does, whatever it is. Sums of 32
bits that are signed are taken not to wrap, as C++ has it; others are told by ``is_exact``, and right in 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from smemviz.engines.lockstep.ptx.code.module import (
    SIZES,
    Instruction,
    Operand,
    Register,
    Special,
    Symbol,
    leaves,
)
from smemviz.engines.lockstep.ptx.kernel import Kernel, written_by

SHARED_WINDOW = "the window of shared memory"
_PLACES = ("tid", "ntid", "ctaid", "nctaid", "laneid")  # of the special registers, those that stay as they are
_PURE = (
    *("mov", "cvt", "cvta", "add", "sub", "mul", "mad", "neg", "abs", "min", "max", "div", "rem"),
    *("shl", "shr", "and", "or", "xor", "not", "lop3", "bfe", "bfi", "prmt", "selp", "popc", "clz"),
)
_INTEGERS = ("b32", "u32", "s32", "b64", "u64", "s64")


@dataclass(frozen=True)
class Form:
    """A sum of terms, each so many times, and a constant; a term is what a register held when the round began.

    Where it is not exact it is right in its last 32 bits, and the terms that cancel out in these stay.
    """

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0
    is_exact: bool = True

    def plus(self, other: Form, times: int = 1) -> Form:
        """Return this and another one so many times."""
        factors = dict(self.terms)
        for name, factor in other.terms:
            factors[name] = factors.get(name, 0) + factor * times
        is_exact = self.is_exact and other.is_exact
        terms = tuple(sorted((name, factor) for name, factor in factors.items() if factor or not is_exact))
        return Form(terms, self.constant + other.constant * times, is_exact)

    def times(self, factor: int) -> Form:
        """Return it so many times."""
        return Form((), 0).plus(self, factor)


class Round:
    """One round of a loop: the form of each address and each test as the instructions go by.

    Feed it every instruction in order with ``step``. ``held`` gives the form of an operand at that point.
    """

    def __init__(self, kernel: Kernel, instructions: Iterable[Instruction]) -> None:
        self._kernel = kernel
        self._written = {name for instruction in instructions for name in written_by(instruction)}
        self._held: dict[str, Form | None] = {}
        self._tests: dict[str, tuple[Form, ...] | None] = {}
        self._made_of: dict[str, frozenset[str]] = {}

    def step(self, instruction: Instruction) -> None:
        """Go on past an instruction."""
        names = list(written_by(instruction))
        if instruction.opcode == "setp" or instruction.type == "pred":
            test = self._test(instruction)
            self._tests.update(dict.fromkeys(names, test))
            self._held.update(dict.fromkeys(names))
            return
        form = self._form(instruction) if len(names) == 1 and instruction.guard is None else None
        self._held.update(dict.fromkeys(names, form))
        self._tests.update(dict.fromkeys(names))

    def held(self, operand: Operand) -> Form | None:
        """Return the form of an operand, None where it has none."""
        if (number := self._kernel.number(operand)) is not None:
            return Form((), number)
        match operand:
            case Register(name=name):
                return self._held.get(name, Form(((name, 1),)))
            case Symbol(name=name, offset=offset):
                return Form(((f"&{name}", 1),), offset)
            case Special(name=name) if name.partition(".")[0] in _PLACES:
                return Form(((f"%{name}", 1),))
        return None

    def tested(self, register: Register) -> tuple[Form, ...] | None:
        """Return the forms that a predicate compares, None where they are not known."""
        return self._tests.get(register.name)

    def steps(self) -> Mapping[str, int]:
        """Return by how much registers grow each round, those that do; the round must have gone by."""
        grown: dict[str, int] = {}
        for name, form in self._held.items():
            is_whole = form is not None and (form.is_exact or SIZES[self._kernel.registers[name]] == 4)
            if form is not None and is_whole and form.terms == ((name, 1),):
                grown[name] = form.constant
        return grown

    def movement(self, form: Form, steps: Mapping[str, int]) -> int | None:
        """Return by how much a sum grows each round, None where that is not known."""
        moved = 0
        for name, factor in form.terms:
            if name in self._written:
                if name not in steps:
                    return None
                moved += factor * steps[name]
        return moved

    def made_of(self, forms: Iterable[Form]) -> set[str]:
        """Return the registers, and special registers with their %, that sums are made of."""
        names: set[str] = set()
        for form in forms:
            for name, _ in form.terms:
                names |= self._made_of.get(name, {name})
        return {name for name in names if name != SHARED_WINDOW and not name.startswith("&")}

    def _test(self, instruction: Instruction) -> tuple[Form, ...] | None:
        found: list[Form] = []
        if instruction.guard is not None or instruction.opcode not in ("setp", "not", "and", "or", "xor", "mov"):
            return None
        for operand in instruction.operands[1:]:
            name = next((leaf.name for leaf in leaves(operand) if isinstance(leaf, Register)), "")
            if self._kernel.registers.get(name) == "pred":
                test = self._tests.get(name) if name in self._written else (Form(((name, 1),)),)
                if test is None:
                    return None
                found += test
                continue
            form = self.held(operand) if instruction.type in _INTEGERS else None
            if form is None:
                return None
            found.append(form)
        return tuple(found)

    def _form(self, instruction: Instruction) -> Form | None:
        if instruction.opcode not in _PURE:
            return None
        given = [self.held(operand) for operand in instruction.operands[1:]]
        forms = [form for form in given if form is not None]
        if len(forms) < len(given):
            return None
        made = self._sum(instruction, forms)
        is_fixed = not any(name in self._written for form in forms for name, _ in form.terms)
        if is_fixed and (made is None or not made.is_exact):
            name = f"{instruction.text} {len(self._made_of)}"
            self._made_of[name] = frozenset(self.made_of(forms))
            return Form(((name, 1),))
        return made

    def _sum(self, instruction: Instruction, forms: list[Form]) -> Form | None:
        if any(kind not in _INTEGERS for kind in instruction.types) or instruction.has("cc", "sat", "hi"):
            return None
        match instruction.opcode, forms:
            case "mov", [form]:
                return form
            case "cvta", [form]:
                if not instruction.has("shared"):
                    return form if instruction.has("global") else None
                return form.plus(Form(((SHARED_WINDOW, 1),)), -1 if instruction.has("to") else 1)
            case "cvt", [form] if len(instruction.types) == 2:
                return _converted(form, *instruction.types)
            case "add", [first, second]:
                return first.plus(second)
            case "sub", [first, second]:
                return first.plus(second, -1)
            case "neg", [form]:
                return form.times(-1)
            case "shl", [form, Form(terms=(), constant=bits)] if 0 <= bits < 64:
                return form.times(1 << bits)
            case "mul", [first, second]:
                return _widened(instruction, _product(first, second))
            case "mad", [first, second, third]:
                product = _widened(instruction, _product(first, second))
                return product and product.plus(third)
        return None


def _product(first: Form, second: Form) -> Form | None:
    if not second.terms:
        return first.times(second.constant)
    return second.times(first.constant) if not first.terms else None


def _widened(instruction: Instruction, form: Form | None) -> Form | None:
    if form is None or not instruction.has("wide"):
        return form
    return _converted(form, "s64" if instruction.type.startswith("s") else "u64", instruction.type)


def _converted(form: Form, to: str, source: str) -> Form:
    """Convert: to fewer bits some are lost, to more ones an unsigned number may have wrapped before."""
    is_kept = SIZES[to] == SIZES[source] or (SIZES[to] > SIZES[source] and source.startswith("s"))
    return form if is_kept else replace(form, is_exact=False)
