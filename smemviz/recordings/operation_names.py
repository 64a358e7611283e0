"""The operations of a site by name, and the bytes of a lane: the words of recordings."""

from __future__ import annotations

WIDTHS = (1, 2, 4, 8, 16)

_ATOMIC_NAMES = ("add", "sub", "and", "or", "xor", "min", "max", "nanmin", "nanmax", "inc", "dec", "exch", "cas")
ATOMICS = frozenset(f"atomic_{name}" for name in _ATOMIC_NAMES)

# ``reduce_inc`` adds the constant 1 and is compiled to a population count; ``cuda.atomic.inc`` is ``atomic_inc``.
POPULATION_COUNT = "reduce_inc"
REDUCTIONS = frozenset(f"reduce_{name}" for name in _ATOMIC_NAMES if name not in ("exch", "cas"))

# 8 x 8 matrices of 2-byte elements that one instruction moves.
MATRICES = {f"{kind}_x{n}": n for kind in ("ldmatrix", "stmatrix") for n in (1, 2, 4)}
# Matrices whose elements lie in registers in an order that nobody tells.
FRAGMENTS = frozenset({"wmma_load", "wmma_store"})
OPERATIONS = frozenset({"load", "store", *ATOMICS, *REDUCTIONS, *MATRICES, *FRAGMENTS})
