"""Functions of numbers in the text of a loop: as Python writes them, or one of NumPy's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from smemviz.engines.lockstep.python.functions import intrinsics
from smemviz.engines.lockstep.python.functions.mathematics import OF_PYTHON, OfPython, of_floats
from smemviz.engines.lockstep.python.functions.names import powers_of_ten
from smemviz.engines.lockstep.python.functions.ufuncs import OF_COMPLEX, complex_type, exponential
from smemviz.engines.lockstep.python.one_thread.atoms import Atom, full, union
from smemviz.engines.lockstep.python.one_thread.text.arithmetic import closed, converted, settled, simple
from smemviz.engines.lockstep.python.one_thread.text.writer import NotWrittenError, Writer
from smemviz.engines.lockstep.python.one_thread.values import is_known
from smemviz.engines.lockstep.values.typing import COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, INT32, INT64, Dtype

Atoms = list[Atom]


def of_numbers(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    """Write a function of settled numbers, None where it has to be called as it is."""
    rule = _RULES.get(name, _ufunc)
    return rule(writer, name, atoms, result)


def _ufunc(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    """Write a function of NumPy, of numbers of the type that it gives."""
    if name.startswith("cmath.") or _are_complex(atoms):
        return _of_complex(writer, name, atoms, result)
    if name in OF_PYTHON and result in (FLOAT32, FLOAT64):
        return _of_python(writer, OF_PYTHON[name], atoms, result)
    module, _, of_it = name.partition(".")
    ufunc = getattr(np, of_it, None) if module == "numpy" else of_floats(name)
    if not isinstance(ufunc, np.ufunc):
        return None
    types = (result,) * len(atoms) if module == "math" else _types_of(ufunc, atoms)
    if not all(map(is_known, types)) or (module == "math" and result not in (FLOAT32, FLOAT64)):
        return None
    given = [converted(writer, atom, dtype) for atom, dtype in zip(atoms, types, strict=True)]
    return called(writer, ufunc, given, result)


def _types_of(ufunc: np.ufunc, atoms: Atoms) -> tuple[Dtype, ...]:
    """Return the types in which NumPy computes a function of numbers."""
    given = [atom.dtype for atom in atoms]
    return ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))[: ufunc.nin]


def _of_python(writer: Writer, function: OfPython, atoms: Atoms, result: Dtype) -> Atom:
    """Write a function of Python, which computes in double precision."""
    numbers = ", ".join(settled(writer, converted(writer, atom, result)).text for atom in atoms)
    made = writer.let(f"{writer.constant(function)}({numbers})", result)
    return replace(made, loose=result == FLOAT32)


def _ldexp(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    if result not in (FLOAT32, FLOAT64):
        return None
    return called(writer, np.ldexp, [converted(writer, atoms[0], result), converted(writer, atoms[1], INT32)], result)


def _phase(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom:
    """Write the angle of a complex number."""
    assert atoms[0].dtype is not None
    number = simple(writer, converted(writer, atoms[0], complex_type(atoms[0].dtype)))
    return called(writer, np.arctan2, [part_of(writer, number, part) for part in ("imag", "real")], result)


def _are_complex(atoms: Atoms) -> bool:
    return any(atom.dtype is not None and atom.dtype.kind == "c" for atom in atoms)


def _of_complex(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    """Write a function of NumPy, or of ``cmath`` that is one, of complex numbers of one type."""
    module, _, of_it = name.partition(".")
    function = OF_COMPLEX.get(of_it) if module == "cmath" else getattr(np, of_it, None) if module == "numpy" else None
    if module == "cmath":
        atoms = [converted(writer, atom, complex_type(atom.dtype)) for atom in atoms if atom.dtype is not None]
    if not isinstance(function, np.ufunc) and function is not exponential:
        return None
    return called(writer, function, atoms, result) if len({atom.dtype for atom in atoms}) == 1 else None


def part_of(writer: Writer, atom: Atom, name: str) -> Atom:
    """Write the real or the imaginary part of a number."""
    if atom.dtype in (COMPLEX64, COMPLEX128):
        return Atom(f"{atom.text}.{name}", FLOAT32 if atom.dtype == COMPLEX64 else FLOAT64)
    if atom.dtype is None or atom.dtype.kind not in "iuf":
        raise NotWrittenError
    return atom if name == "real" else converted(writer, Atom("0", INT64, (0, 0)), atom.dtype)


def called(writer: Writer, function: Callable[..., object], atoms: Atoms, result: Dtype) -> Atom:
    """Write the call of a function of open numbers."""
    writer.is_dear |= not isinstance(function, np.ufunc) and function not in (intrinsics.fma, exponential)
    numbers = ", ".join([writer.opened(settled(writer, atom)) for atom in atoms])
    return writer.let(closed(f"{writer.constant(function)}({numbers})", result), result)


def _root(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    if result not in (FLOAT32, FLOAT64) or _are_complex(atoms):
        return None
    number = simple(writer, converted(writer, atoms[0], result))
    far = closed(f"{writer.constant(np.sqrt)}({writer.opened(number)})", result)
    near = f"{writer.constant(math.sqrt)}({number.text})"
    return Atom(f"({near} if {number.text} >= 0 else {far})", result, loose=result == FLOAT32)


def _magnitude(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    (atom,) = atoms
    if atom.dtype == COMPLEX128:
        return Atom(f"{writer.constant(magnitude)}({atom.text})", result)
    if atom.dtype == COMPLEX64:
        atom = simple(writer, atom)
        return called(writer, np.hypot, [part_of(writer, atom, name) for name in ("real", "imag")], result)
    if atom.dtype != result:
        return None
    span = (0, max(abs(end) for end in atom.within)) if result.kind in "iu" else None
    return Atom(f"abs({atom.text})", result, span)


def magnitude(z: complex) -> float:
    """Return the absolute value of a complex number, infinite where it is too large."""
    try:
        return abs(z)
    except OverflowError:
        return math.inf


def _complex(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    if _are_complex(atoms):
        return atoms[0]
    part = FLOAT32 if result == COMPLEX64 else FLOAT64
    parts = [settled(writer, converted(writer, atom, part)).text for atom in atoms]
    return Atom(f"complex({', '.join([*parts, '0.0'][:2])})", result)


def _half(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    return part_of(writer, atoms[0], name.removeprefix("numpy.")) if _are_complex(atoms) else None


def _extreme(writer: Writer, name: str, operands: Atoms, dtype: Dtype) -> Atom | None:
    if len(operands) < 2 or dtype.kind == "c":
        return None
    sign = ">" if name == "builtins.max" else "<"
    floats = len(operands) == 2 and all(atom.dtype is not None and atom.dtype.kind == "f" for atom in operands)
    span = union([converted(writer, atom, dtype).within for atom in operands]) if dtype.kind in "iu" else None
    atoms = [simple(writer, converted(writer, atom, dtype)) for atom in operands]
    atom = atoms[0]
    for other in atoms[1:]:
        pick = f"{other.text} if {other.text} {sign} {atom.text} else {atom.text}"
        if floats:  # of equal ones, and beside what is not a number, the sign matters
            function = writer.constant(np.fmax if sign == ">" else np.fmin)
            pick = (
                f"{atom.text} if {atom.text} {sign} {other.text} else {other.text} if {other.text} {sign} {atom.text}"
            )
            pick += f" else float({function}({writer.opened(atom)}, {writer.opened(other)}))"
        atom = writer.let(pick, dtype)
    return Atom(atom.text, dtype, full(dtype) if span is None and dtype.kind in "iu" else span)


# -- bits


def _bits(writer: Writer, atoms: Atoms) -> str:
    """Return the text of an integer as an unsigned one of its width."""
    (atom,) = atoms
    assert atom.dtype is not None
    low, high = full(atom.dtype)
    return atom.text if atom.within[0] >= 0 else f"({atom.text} & {high - low})"


def reversed_bits(number: int, width: int) -> int:
    """Return an integer that is not below 0 with its bits in the other order."""
    return int(f"{number:0{width}b}"[::-1], 2)


def _brev(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom:
    number = settled(writer, converted(writer, atoms[0], result)).text
    text = f"{writer.constant(reversed_bits)}({number}, {8 * result.itemsize})"
    return writer.let(closed(text, result), result)


def _popc(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    if atoms[0].dtype != result:
        return None
    return Atom(f"{_bits(writer, atoms)}.bit_count()", result, (0, 8 * result.itemsize))


def _clz(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    if atoms[0].dtype != result:
        return None
    width = 8 * result.itemsize
    return Atom(f"({width} - {_bits(writer, atoms)}.bit_length())", result, (0, width))


def _ffs(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    (atom,) = atoms
    if atom.dtype is None or atom.dtype.kind not in "iu":
        return None
    number = simple(writer, atom).text
    return Atom(f"({number} & -{number}).bit_length()", result, (0, 8 * atom.dtype.itemsize))


# -- tests of floats, and what needs both operands of one type


def _isnan(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    if atoms[0].dtype not in (FLOAT32, FLOAT64):
        return None
    number = simple(writer, atoms[0]).text
    return Atom(f"({number} != {number})", result)


def _below_infinity(sign: str) -> Rule:
    def rule(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
        if atoms[0].dtype not in (FLOAT32, FLOAT64):
            return None
        return Atom(f"(abs({atoms[0].text}) {sign} {writer.constant(math.inf)})", result)

    return rule


def _cbrt(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    return called(writer, np.cbrt, [converted(writer, atom, result) for atom in atoms], result)


def _fma(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    return called(writer, intrinsics.fma, [converted(writer, atom, result) for atom in atoms], result)


def _selected(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    test, then, otherwise = atoms
    span = union([then.within, otherwise.within]) if result.kind in "iu" else None
    return Atom(f"({then.text} if {test.text} else {otherwise.text})", result, span)


def _round(writer: Writer, name: str, atoms: Atoms, result: Dtype) -> Atom | None:
    if _are_complex(atoms):
        return None
    if len(atoms) > 1:
        return _rounded_to(writer, atoms[0], atoms[1], result)
    return converted(writer, called(writer, np.rint, [converted(writer, atoms[0], FLOAT64)], FLOAT64), result)


def _rounded_to(writer: Writer, atom: Atom, digits: Atom, result: Dtype) -> Atom | None:
    """Write a number that is rounded to as many digits as are written out."""
    if not digits.is_literal:
        return None
    number, infinite = simple(writer, converted(writer, atom, FLOAT64)).text, writer.constant(math.inf)
    by, then = (repr(float(power)) for power in powers_of_ten(np.int64(digits.within[0])))
    is_behind_the_point = digits.within[0] >= 0
    scaled = writer.let(f"{number} * {by} * {then}" if is_behind_the_point else f"{number} / {by}", FLOAT64)
    whole = called(writer, np.rint, [scaled], FLOAT64).text
    back = f"{whole} / {then} / {by}" if is_behind_the_point else f"{whole} * {by}"
    made = writer.let(f"{back} if abs({scaled.text}) < {infinite} else {number}", FLOAT64)
    return converted(writer, made, result)


Rule = Callable[[Writer, str, Atoms, Dtype], Atom | None]
_RULES: dict[str, Rule] = {
    "builtins.abs": _magnitude,
    "builtins.complex": _complex,
    "builtins.max": _extreme,
    "builtins.min": _extreme,
    "builtins.round": _round,
    "cmath.phase": _phase,
    "cuda.brev": _brev,
    "cuda.cbrt": _cbrt,
    "cuda.clz": _clz,
    "cuda.ffs": _ffs,
    "cuda.fma": _fma,
    "cuda.popc": _popc,
    "cuda.selp": _selected,
    "math.isfinite": _below_infinity("<"),
    "math.isinf": _below_infinity("=="),
    "math.isnan": _isnan,
    "math.ldexp": _ldexp,
    "math.sqrt": _root,
    "numpy.imag": _half,
    "numpy.real": _half,
}
