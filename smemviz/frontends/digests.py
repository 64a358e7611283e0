"""Digests of kernels, by which a measurement knows whether it is of the code at hand."""

from __future__ import annotations

import hashlib

from smemviz.frontends.program import Program
from smemviz.recordings.sweep import SIZE_CONSTANTS


def digests(program: Program) -> dict[str, str]:
    """Return a digest of each kernel: of its code, of the functions it may call, and of the file's other constants."""
    shared, kernels = program.texts
    shared += [f"{c.name} = {c.text}" for c in program.constants.values() if c.name not in (*SIZE_CONSTANTS, "TILE")]
    texts = {name: "\n".join([*shared, text]) for name, text in kernels.items()}
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in texts.items()}
