"""Random typed expressions, and kernels that compute many of them.

Each is one expression, or a variable that two branches assign, of the elements that a thread has in one array of each
type, and in one of records. What is left open is not there: sums and products of signed integers beyond 64 bits, shifts
by more than the width, conversions of floats to integers that do not hold them. A float product never stands in a sum,
nor are complex numbers multiplied: a compiler may make one instruction of both, rounded once. Conversions and
remainders of floats, whose NaN a CPU treats differently, are not there either.
"""

from dataclasses import dataclass
from random import Random

import numpy as np

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
TYPES += ["complex64", "complex128"]
RECORD = np.dtype([("b", "?"), ("i", "i2"), ("u", "u4"), ("l", "i8"), ("f", "f4"), ("d", "f8")], align=True)
ELEMENTS = 64
_INTEGERS = [name for name in TYPES if "int" in name]
_FIELDS = {"b": ["b"], "i": ["i", "u", "l"], "f": ["f", "d"]}
_EDGES = {
    "b": [0, 1],
    "i": [0, 1, -1, 2, -2, 3, 5, -7, 63, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)],
    "u": [0, 1, 2, 3, 7, 63, 2**31, 2**32 - 1, 2**63, 2**64 - 1],
    "f": [0.0, -0.0, 1.0, -1.5, 2.5, 1e10, -3.75, 0.1, 1e30, 300.7, np.inf, -np.inf, np.nan],
}
_CONSTANTS = {"b": ["True", "False"], "i": ["0", "1", "2", "-3", "7", "255", "100000"], "f": ["0.5", "2.0", "-1.25"]}


@dataclass(frozen=True)
class Expression:
    """Lines that leave a value in ``name``."""

    lines: tuple[str, ...]
    name: str


def inputs(seed: int) -> dict[str, np.ndarray]:
    """Return an array of each type, its edges and random numbers, and one of records of those."""
    rng = np.random.default_rng(seed)
    found = {}
    for name in TYPES:
        dtype = np.dtype(name)
        if dtype.kind == "c":
            part = found["float32" if name == "complex64" else "float64"]
            found[name] = (
                rng.permutation(part) + 1j * np.nan_to_num(rng.permutation(part), posinf=1, neginf=-1)
            ).astype(dtype)
            continue
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            values = [x for x in _EDGES[dtype.kind] if info.min <= x <= info.max]
            rest = rng.integers(info.min, info.max, ELEMENTS - len(values), dtype, endpoint=True)
            rest[::2] = rng.integers(0, 100, len(rest[::2])).astype(dtype)
        else:
            values = _EDGES[dtype.kind]
            rest = rng.normal(0, 50, ELEMENTS - len(values)) if dtype.kind == "f" else rng.integers(0, 2, ELEMENTS - 2)
        found[name] = rng.permutation(np.concatenate([np.array(values, dtype), rest.astype(dtype)]))
    found["record"] = np.zeros(ELEMENTS, RECORD)
    for name, (dtype, _) in RECORD.fields.items():
        found["record"][name] = rng.permutation(found[dtype.name])
    return found


def expressions(seed: int, count: int) -> list[Expression]:
    """Return random expressions."""
    return [_Maker(Random(f"{seed} {number}")).expression(number) for number in range(count)]


class _Maker:
    """Makes one expression. Kinds of values are "b", "i" and "f"; an unsigned integer is an "i" here."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def expression(self, number: int) -> Expression:
        name, pick = f"v{number}", self._random.random()
        kind = self._random.choice("biiff")
        if pick < 0.2:
            first, second = self.value(kind, 2), self.value(self._random.choice("bif"), 2)
            return Expression((f"{name} = {first}", f"if {self.value('b', 1)}:", f"    {name} = {second}"), name)
        return Expression((f"{name} = {self.value(kind, 3)}",), name)

    def value(self, kind: str, depth: int, *, product: bool = True) -> str:
        """Return an expression of a kind; without ``product``, one that is no float product."""
        if depth == 0 or self._random.random() < 0.12:
            return self._leaf(kind)
        return {"b": self._truth, "i": self._integer, "f": self._float}[kind](depth - 1, product)

    def _leaf(self, kind: str) -> str:
        names = {"b": ["bool"], "i": _INTEGERS, "f": ["float32", "float64"]}[kind]
        pick = self._random.random()
        if pick < 0.2:
            return f"({self._random.choice(_CONSTANTS[kind])})"
        if pick < 0.35:
            field = self._random.choice(_FIELDS[kind])
            return self._random.choice([f"a_record[i].{field}", f"a_record['{field}'][i]", f"a_record[i]['{field}']"])
        return self._element(names)

    def _element(self, names: list[str]) -> str:
        """Return an element of an array: the thread's own, or one at an index of any integer type."""
        index = "i"
        if self._random.random() < 0.2:
            other = f"(a_{self._random.choice(_INTEGERS)}[i] & 63)"
            index = self._random.choice([other, f"-1 - {other}", f"int64({other})", f"np.uint64({other})"])
        return f"a_{self._random.choice(names)}[{index}]"

    def _complex(self, depth: int) -> str:
        """Return a complex number."""
        pick = self._random.randrange(5) if depth else 0
        if pick == 0:
            return self._element(["complex64", "complex128"])
        if pick == 1:
            return f"(-{self._complex(depth - 1)})"
        if pick == 2:
            return f"complex({self.value('f', depth - 1)}, {self.value('f', depth - 1)})"
        if pick == 3:
            return f"{self._complex(depth - 1)}.conjugate()"
        return f"({self._complex(depth - 1)} {self._random.choice('+-')} {self._complex(depth - 1)})"

    def _truth(self, depth: int, product: bool) -> str:
        pick = self._random.randrange(9)
        if pick == 8:
            return f"({self._complex(depth)} {self._random.choice(['==', '!='])} {self._complex(depth)})"
        if pick <= 1:
            sign = self._random.choice(["and", "or", "^", "&", "|"])
            return f"({self.value('b', depth)} {sign} {self.value('b', depth)})"
        if pick <= 3:
            return f"(not {self.value(self._random.choice('bi'), depth)})"
        kinds = self._random.choice(["ii", "if", "fi", "ff", "bi"])
        sign = self._random.choice(["<", "<=", ">", ">=", "==", "!="])
        return f"({self.value(kinds[0], depth)} {sign} {self.value(kinds[1], depth)})"

    def _integer(self, depth: int, product: bool) -> str:
        pick = self._random.randrange(8)
        one, other = self.value("i", depth), self.value(self._random.choice("iiib"), depth)
        if pick == 0:
            return f"np.{self._random.choice(_INTEGERS)}({self._random.choice([one, self.value('b', depth)])})"
        if pick == 1:
            return f"({self._random.choice('-~+')}{one})"
        if pick == 2:
            sign = self._random.choice(["<<", ">>"])
            return f"({one} {sign} ({other} & 31))"
        if pick == 3:
            return f"(int64({one}) if {self.value('b', depth)} else int64({self.value('i', depth)}))"
        if pick == 4:
            return f"{self._random.choice(['min', 'max'])}(uint64({one}), uint64({self.value('i', depth)}))"
        if pick == 7:
            return f"({one} {self._random.choice(['//', '%', '&', '|', '^'])} {other})"
        wide = self._random.choice(["int32", "uint64"])  # what may overflow signed 64 bits is left open
        return f"({wide}({one}) {self._random.choice('+-*')} {wide}({other}))"

    def _float(self, depth: int, product: bool) -> str:
        pick = self._random.randrange(11)
        if pick == 9:
            return f"{self._complex(depth)}.{self._random.choice(['real', 'imag'])}"
        if pick == 10:
            # Of a float, which may be NaN, whose sign is left open.
            return f"math.copysign({self.value('f', depth)}, float64({self.value('i', depth)}))"
        if pick == 0:
            return f"{self._random.choice(['float32', 'float64', 'float'])}({self.value('i', depth)})"
        if pick == 1:
            return f"(-{self.value('f', depth, product=product)})"
        if pick == 2:
            kind = self._random.choice("ffi")
            one, other = self.value(kind, depth, product=product), self.value(kind, depth, product=product)
            return f"({one} if {self.value('b', depth)} else {other})"
        if pick == 3:
            return f"math.{self._random.choice(['sqrt', 'fabs'])}({self.value('f', depth, product=product)})"
        if pick == 4:
            return f"({self.value('i', depth)} / {self.value('i', depth)})"
        if pick == 5 and product:
            return f"({self.value('f', depth)} * {self.value(self._random.choice('fi'), depth)})"
        if pick == 6:  # of integers with and without a sign
            return f"{self._random.choice(['min', 'max'])}({self.value('i', depth)}, {self.value('i', depth)})"
        sign = self._random.choice(["+", "-", "/"])
        one, other = self.value("f", depth, product=False), self.value(self._random.choice("fi"), depth, product=False)
        return f"({one} {sign} {other})"


def parameters() -> str:
    """Return the names of the arrays of ``inputs`` in kernels and functions."""
    return ", ".join(f"a_{name}" for name in [*TYPES, "record"])


def kernel_text(made: list[Expression]) -> str:
    """Return a kernel ``kernel`` that stores every value twice: in ``whole`` as int64, in ``real`` as float64."""
    lines = ["@cuda.jit", f"def kernel({parameters()}, whole, real):", "    i = cuda.grid(1)"]
    for row, one in enumerate(made):
        lines += [f"    {line}" for line in one.lines]
        lines += [f"    whole[{row}, i] = {one.name}", f"    real[{row}, i] = {one.name}"]
    return "\n".join(lines) + "\n"


def function_text(made: list[Expression]) -> str:
    """Return a function ``f`` of the arrays and a place that returns the tuple of all values there."""
    lines = [f"    {line}" for one in made for line in one.lines]
    names = ", ".join(one.name for one in made)
    return f"def f({parameters()}, i):\n" + "\n".join(lines) + f"\n    return ({names},)\n"
