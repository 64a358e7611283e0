"""What registers hold during one round of a loop, as sums of what they held when the round began.

So an address that moves on by the same number of bytes each round is known as one that does, whatever it is. Sums of 32
bits that are signed are taken not to wrap, as C++ has it; others are told by ``is_exact``, and right in 32 bits.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from smemviz.engines.lockstep.ptx.code.module import (
    SIZES,
    Address,
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
_DEEPEST = 50  # instructions that are followed from one to the next
_INTEGERS = ("b32", "u32", "s32", "b64", "u64", "s64")


@dataclass(frozen=True)
class Form:
    """A sum of terms, each so many times, and a constant; a term is what a register held when the round began.

    Where it is not exact it is right in its last 32 bits, and the terms that cancel out in these stay. It holds
    ``if_again`` where it is so only in a round after which there is another, and ``if_positive`` where what these
    instructions look at is not below 0.
    """

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0
    is_exact: bool = True
    if_again: bool = False
    if_positive: frozenset[int] = frozenset()

    def plus(self, other: Form, times: int = 1) -> Form:
        """Return this and another one so many times."""
        factors = dict(self.terms)
        for name, factor in other.terms:
            factors[name] = factors.get(name, 0) + factor * times
        is_exact = self.is_exact and other.is_exact
        terms = tuple(sorted((name, factor) for name, factor in factors.items() if factor or not is_exact))
        again, positive = self.if_again or other.if_again, self.if_positive | other.if_positive
        return Form(terms, self.constant + other.constant * times, is_exact, again, positive)

    def times(self, factor: int) -> Form:
        """Return it so many times."""
        return Form((), 0).plus(self, factor)


@dataclass(frozen=True)
class Movement:
    """By how much a sum grows each round: a number, and some multiple of another one, the same in all lanes."""

    by: int = 0
    multiple_of: int = 0

    def is_whole(self, size: int) -> bool:
        """Tell whether it is a multiple of a size."""
        return self.by % size == 0 and self.multiple_of % size == 0


class Round:
    """One round of a loop: the form of each address and each test as the instructions go by.

    Feed it every instruction in order with ``step``. ``form_of`` gives the form of an operand at that point. Predicates
    that are known in a round after which there is another are given by name as ``again``. Of instructions that look at
    the sign of a number it is taken to be positive, but for those in ``negative``, known by their place in the round;
    ``positive`` has for the others what they look at.
    """

    def __init__(
        self, kernel: Kernel, instructions: Iterable[Instruction], again: Mapping[str, bool], negative: Collection[int]
    ) -> None:
        self._kernel = kernel
        self._again = again
        self._negative = negative
        self._outside: dict[str, Form] = {}
        self._depth = 0
        self._products: dict[str, tuple[Form, str]] = {}
        self.positive: dict[int, Form] = {}
        self._at = -1
        self._written = {name for instruction in instructions for name in written_by(instruction)}
        self._forms: dict[str, Form | None] = {}
        self._tests: dict[str, tuple[Form, ...] | None] = {}
        self._made_of: dict[str, frozenset[str]] = {}

    def step(self, instruction: Instruction) -> None:
        """Go on past an instruction."""
        self._at += 1
        names = list(written_by(instruction))
        if instruction.opcode == "setp" or instruction.type == "pred":
            test = self._test(instruction)
            self._tests.update(dict.fromkeys(names, test))
            self._forms.update(dict.fromkeys(names))
            return
        form = self._form(instruction) if len(names) == 1 and instruction.guard is None else None
        self._forms.update(dict.fromkeys(names, form))
        self._tests.update(dict.fromkeys(names))

    def form_of(self, operand: Operand) -> Form | None:
        """Return the form of an operand, None where it has none."""
        if (number := self._kernel.number(operand)) is not None:
            return Form((), number)
        match operand:
            case Register(name=name) if name in self._forms:
                return self._forms[name]
            case Register(name=name):
                return self._made_outside(name)
            case Symbol(name=name, offset=offset):
                return Form(((f"&{name}", 1),), offset)
            case Special(name=name) if name.partition(".")[0] in _PLACES:
                return Form(((f"%{name}", 1),))
        return None

    def _made_outside(self, name: str) -> Form:
        """Return the form of a register that a round finds as it is: its distance from another one, or itself."""
        if name not in self._outside:
            self._outside[name] = Form(((name, 1),))
            maker = None if name in self._written or self._depth > _DEEPEST else self._kernel.maker(name)
            self._depth += 1
            if maker is not None and maker.opcode in ("mov", "cvt", "cvta", "add", "sub") and self._are_set_once(maker):
                forms = [self.form_of(operand) for operand in maker.operands[1:]]
                made = self._sum(maker, [form for form in forms if form is not None]) if None not in forms else None
                self._outside[name] = made or self._outside[name]
            self._depth -= 1
        return self._outside[name]

    def _are_set_once(self, maker: Instruction) -> bool:
        """Tell whether what an instruction reads is as it was: one register that nothing else sets, if any."""
        registers = [operand for operand in maker.operands[1:] if isinstance(operand, Register)]
        return len(registers) <= 1 and all(
            one.name not in self._written and self._kernel.maker(one.name) is not None for one in registers
        )

    def _is_fixed(self, name: str) -> bool:
        return name not in self._written and name not in self._products

    def tested(self, register: Register) -> tuple[Form, ...] | None:
        """Return the forms that a predicate compares, None where they are not known."""
        return self._tests.get(register.name)

    def steps(self) -> Mapping[str, int]:
        """Return by how much registers grow each round, those that do; the round must have gone by."""
        grown: dict[str, int] = {}
        for name, form in self._forms.items():
            is_whole = form is not None and (form.is_exact or SIZES[self._kernel.registers[name]] == 4)
            if form is not None and is_whole and form.terms == ((name, 1),):
                grown[name] = form.constant
        return grown

    def movement(self, form: Form, steps: Mapping[str, int]) -> Movement | None:
        """Return by how much a sum grows each round, None where that is not known."""
        moved, multiple_of = 0, 0
        for name, factor in form.terms:
            if name in self._products:
                inner = self.movement(self._products[name][0], steps)
                if inner is None:
                    return None
                multiple_of = math.gcd(multiple_of, factor * inner.by, factor * inner.multiple_of)
            elif name in self._written:
                if name not in steps:
                    return None
                moved += factor * steps[name]
        return Movement(moved, multiple_of)

    def stays_positive(self, form: Form, steps: Mapping[str, int]) -> bool:
        """Tell whether a sum of registers alone does not fall."""
        registers = self._kernel.registers
        are_numbers = all(SIZES.get(registers.get(name, ""), 0) in (4, 8) for name, _ in form.terms)
        moved = self.movement(form, steps) if are_numbers else None
        return moved is not None and moved.by >= 0 and moved.multiple_of == 0

    def multipliers(self, form: Form) -> set[str]:
        """Return the registers whose values say how far a sum moves."""
        registers: set[str] = set()
        for name, _ in form.terms:
            if name in self._products:
                inner, by = self._products[name]
                registers |= self.made_of([Form(((by, 1),))]) | self.multipliers(inner)
        return registers

    def made_of(self, forms: Iterable[Form]) -> set[str]:
        """Return the registers, and special registers with their %, that sums are made of."""
        names: set[str] = set()
        for form in forms:
            for name, _ in form.terms:
                if name in self._products:
                    inner, by = self._products[name]
                    names |= self.made_of([inner, Form(((by, 1),))])
                else:
                    names |= self._made_of.get(name, {name})
        return {name for name in names if name != SHARED_WINDOW and not name.startswith("&")}

    def _test(self, instruction: Instruction) -> tuple[Form, ...] | None:
        tests: list[Form] = []
        if instruction.guard is not None or instruction.opcode not in ("setp", "not", "and", "or", "xor", "mov"):
            return None
        for operand in instruction.operands[1:]:
            name = next((leaf.name for leaf in leaves(operand) if isinstance(leaf, Register)), "")
            if self._kernel.registers.get(name) == "pred":
                test = self._tests.get(name) if name in self._written else (Form(((name, 1),)),)
                if test is None:
                    return None
                tests += test
                continue
            form = self.form_of(operand) if instruction.type in _INTEGERS else None
            if form is None:
                return None
            tests.append(form)
        return tuple(tests)

    def _form(self, instruction: Instruction) -> Form | None:
        if instruction.opcode == "ld" and instruction.has("param"):
            return self._parameter(instruction)
        if instruction.opcode not in _PURE:
            return None
        if instruction.opcode == "selp" and (chosen := self._chosen(instruction)) is not None:
            return chosen
        given = [self.form_of(operand) for operand in instruction.operands[1:]]
        forms = [form for form in given if form is not None]
        if len(forms) < len(given):
            return None
        made = self._sum(instruction, forms)
        is_fixed = all(self._is_fixed(name) for form in forms for name, _ in form.terms)
        if is_fixed and (made is None or not made.is_exact):
            name = f"{instruction.text} {len(self._made_of)}"
            self._made_of[name] = frozenset(self.made_of(forms))
            made = Form(((name, 1),))
        if made is None:
            return None
        positive = made.if_positive.union(*(form.if_positive for form in forms))
        return replace(made, if_again=made.if_again or any(form.if_again for form in forms), if_positive=positive)

    def _parameter(self, instruction: Instruction) -> Form | None:
        """Return the form of a parameter of the kernel, which is the same in all lanes."""
        place = instruction.operands[1]
        names = {variable.name for variable in self._kernel.function.parameters}
        if not (isinstance(place, Address) and isinstance(place.base, Symbol) and place.base.name in names):
            return None
        name = f"[{place.base.name}+{place.offset}]"
        self._made_of[name] = frozenset()
        return Form(((name, 1),))

    def _chosen(self, instruction: Instruction) -> Form | None:
        """Return what is chosen by a predicate that is known where there is another round."""
        _, first, second, predicate = instruction.operands
        if not (isinstance(predicate, Register) and predicate.name in self._tests and predicate.name in self._again):
            return None
        form = self.form_of(first if self._again[predicate.name] else second)
        return form and replace(form, if_again=True)

    def _zero(self, looked_at: Form) -> Form | None:
        """Return 0, which the sign of a number is where that is positive, if it may be taken to be."""
        is_known = looked_at.is_exact and not looked_at.if_again and not looked_at.if_positive
        moves = not all(self._is_fixed(name) for name, _ in looked_at.terms)
        if not (is_known and moves) or self._at in self._negative:
            return None
        self.positive[self._at] = looked_at
        return Form(if_positive=frozenset([self._at]))

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
            case "shr", [form, Form(terms=(), constant=63)] if instruction.type == "s64":
                return self._zero(form)
            case "and", [form, Form(terms=(), constant=number)] if number % (1 << 64) == 1 << 63:
                return self._zero(form) if instruction.type == "b64" else None
            case ("and" | "shr", [Form(terms=(), constant=0) as nothing, other]) | (
                "and",
                [other, Form(terms=(), constant=0) as nothing],
            ):
                return nothing.plus(other, 0)
            case "mul", [first, second]:
                return _widened(instruction, self._product(first, second))
            case "mad", [first, second, third]:
                product = _widened(instruction, self._product(first, second))
                return product and product.plus(third)
        return None

    def _product(self, first: Form, second: Form) -> Form | None:
        for form, other in ((first, second), (second, first)):
            if not other.terms:
                return form.times(other.constant).plus(other, 0)
        for form, other in ((first, second), (second, first)):
            match other:
                case Form(terms=((name, 1),), constant=0, is_exact=True) if self._is_fixed(name):
                    product = f"{form} * {name}"
                    self._products[product] = form, name
                    return Form(((product, 1),)).plus(form, 0)
        return None


def _widened(instruction: Instruction, form: Form | None) -> Form | None:
    if form is None or not instruction.has("wide"):
        return form
    return _converted(form, "s64" if instruction.type.startswith("s") else "u64", instruction.type)


def _converted(form: Form, to: str, source: str) -> Form:
    """Convert: to fewer bits some are lost, to more ones an unsigned number may have wrapped before."""
    is_kept = SIZES[to] == SIZES[source] or (SIZES[to] > SIZES[source] and source.startswith("s"))
    return form if is_kept else replace(form, is_exact=False)
