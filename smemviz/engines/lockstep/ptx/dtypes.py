"""The types of PTX as NumPy has them, and the floats that it has not."""

from __future__ import annotations

from typing import Any

import numpy as np

from smemviz.engines.lockstep.ptx.code.module import SIZES

Value = Any  # a NumPy scalar or array

UNSIGNED: dict[int, Any] = {1: np.dtype("u1"), 2: np.dtype("u2"), 4: np.dtype("u4"), 8: np.dtype("u8")}
_KINDS = {"b": "u", "u": "u", "s": "i", "f": "f"}
DTYPES: dict[str, Any] = {
    name: np.dtype(f"{_KINDS[name[0]]}{size}") for name, size in SIZES.items() if name not in ("pred", "b128", "tf32")
} | {
    "pred": np.dtype(bool),
    "tf32": np.dtype("f4"),
    "bf16": np.dtype("u2"),
    "bf16x2": np.dtype("u4"),
    "f16x2": np.dtype("u4"),
}


def from_bf16(bits: Value) -> Value:
    """Return the float32 of a bfloat16, given as 16 bits."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def as_bf16(value: Value) -> Value:
    """Return the bits of the bfloat16 nearest to a float32, to even where two are as near."""
    value = value if value.dtype == np.float32 else value.astype(np.float32)
    bits = value.view(np.uint32)
    rounded = (bits + (((bits >> np.uint32(16)) & np.uint32(1)) + np.uint32(0x7FFF))) >> np.uint32(16)
    return np.where(np.isnan(value), np.uint32(0x7FFF), rounded).astype(np.uint16)[()]


def as_tf32(value: Value) -> Value:
    """Return a float32 rounded to the 10 bits of TF32, ties away from zero."""
    return ((value.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
