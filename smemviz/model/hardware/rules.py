"""From an operation, a width and a compute capability to the few numbers that decide how a request is served."""

from __future__ import annotations

from typing import NamedTuple

from smemviz.model.hardware.compute_capability import ComputeCapability
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.hardware.operations import check_operation, operation
from smemviz.recordings.operation_names import WIDTHS

WARP = 32


class Rule(NamedTuple):
    """How one kind of request is served.

    A lane's access must be aligned to ``width`` and touches ``words`` neighbouring words. A word's bank is
    ``(address >> word_shift) % banks``; two words of a bank are served together when ``address >> row_shift``
    is the same. Only the first ``lanes`` lanes count; a phase serves ``phase_lanes`` of them and
    ``phase_words`` words of each. ``merges``: phases double when lanes pair up. ``shares``: lanes on one
    word are served together. ``more_ways`` wavefronts go on top of those of each phase.
    """

    width: int
    words: int
    word_shift: int
    row_shift: int
    banks: int
    lanes: int
    phase_lanes: int
    phase_words: int
    merges: bool
    shares: bool
    more_ways: int


def shared_rule(width: int, op: str, hardware: Hardware) -> Rule:
    """Return the rule of a shared-memory request.

    Raises:
        InputError: for an unknown operation, width, compute capability or bank mode, or a mix that does not exist.
    """
    row = hardware.row
    check_operation(op, width, hardware.cc)
    return rule_of(row, width, op, hardware.bank_bytes)


def rule_of(row: ComputeCapability, width: int, op: str, bank_bytes: int) -> Rule:
    """Return the rule that follows from a row of the table, for an operation that it has."""
    width = int(width)  # one type of number only, or Numba compiles the loop once for each
    words = max(1, width // bank_bytes)
    does = operation(op)
    # 3.x serves 8 bytes a bank in either mode: with 4-byte words, those 32 apart in a segment of 64 go together.
    row_bytes = row.banks * max(row.bank_bytes)
    return Rule(
        width=width,
        words=words,
        word_shift=_log2(int(bank_bytes)),
        row_shift=_log2(row_bytes),
        banks=row.banks,
        lanes=8 * does.matrices if does.matrices else WARP,
        phase_lanes=WARP if does.effect == "update" else row.phases[width],
        phase_words=1 if row.splits_wide else words,
        merges=op == "load" and width > 4 and row.merges_wide_loads,
        shares=does.shares,
        more_ways=row.more_ways.get(width, 0),
    )


def same_rules(left: Hardware, right: Hardware) -> bool:
    """Whether requests of every kind are served alike on both."""
    return all(
        rule_of(left.row, width, op, left.bank_bytes) == rule_of(right.row, width, op, right.bank_bytes)
        for op in ("load", "store", "atomic_add")
        for width in WIDTHS
    )


def piece_rule(width: int, piece_bytes: int) -> Rule:
    """Return the rule that counts the different aligned pieces of memory a request touches, as its wavefronts."""
    shift = _log2(int(piece_bytes))
    return Rule(
        width=int(width),
        words=1,
        word_shift=shift,
        row_shift=shift,
        banks=1,
        lanes=WARP,
        phase_lanes=WARP,
        phase_words=1,
        merges=False,
        shares=True,
        more_ways=0,
    )


def _log2(n: int) -> int:
    return n.bit_length() - 1
