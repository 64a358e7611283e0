"""Races that lockstep finds in the body of a kernel."""

import numpy as np

from helpers.lockstep_text import body, what


def found(text, **options):
    """Return the messages of a body's races; it has no other finding."""
    _, findings = body(text, np.zeros(4096, np.int64), **options)
    assert {finding.kind for finding in findings} <= {"race"}
    return [what(finding) for finding in findings]


REVERSE = """
held = cuda.shared.array(64, int32)
t = cuda.threadIdx.x
held[t] = t
BARRIER
out[t] = held[63 - t]
"""


NEIGHBOUR = """
held = cuda.shared.array(96, int32)
t = cuda.threadIdx.x
base = t // 32 * 32
lane = t % 32
held[t] = t
BARRIER
x = held[base + (lane + 1) % 32]
BARRIER
held[t] = x
"""
