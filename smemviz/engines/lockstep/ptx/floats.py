"""Floats that NumPy does not have."""

from __future__ import annotations

from typing import Any

import numpy as np

Value = Any


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
