"""The hardware whose rules count, a compute capability in a bank mode; and how it serves each kind of request."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from smemviz.errors import InputError
from smemviz.i18n import _
from smemviz.messages import english
from smemviz.model.hardware.compute_capability import ComputeCapability, device, known
from smemviz.model.hardware.operations import check_operation, operation
from smemviz.recordings.measured import Device
from smemviz.recordings.recording import Recording
from smemviz.recordings.vocabulary import WIDTHS


@dataclass(frozen=True)
class Hardware:
    """The GPU whose rules count: its compute capability, and its bank mode where it has two (3.x)."""

    cc: tuple[int, int] = (9, 0)
    bank_bytes: int = 4

    @property
    def row(self) -> ComputeCapability:
        """Its row of the table.

        Raises:
            InputError: for an unknown compute capability or bank mode.
        """
        row = device(self.cc)
        if self.bank_bytes not in row.bank_bytes:
            raise InputError(
                english(
                    "banks of compute capability {capability} are {modes} bytes wide, not {bank_bytes}",
                    capability=row.name,
                    modes=" or ".join(map(str, row.bank_bytes)),
                    bank_bytes=repr(self.bank_bytes),
                )
            )
        return row

    @property
    def banks(self) -> int:
        """How many banks its shared memory has."""
        return self.row.banks

    @property
    def row_bytes(self) -> int:
        """How many bytes lie in neighbouring banks until the first bank comes again."""
        return self.row.banks * self.bank_bytes

    @property
    def bytes_per_wavefront(self) -> int:
        """How many bytes one wavefront can deliver: a word of every bank, of its widest mode."""
        return self.row.banks * max(self.row.bank_bytes)

    @property
    def name(self) -> str:
        """The compute capability as it is written, with the bank mode where that is not the default."""
        if self == Hardware.default(self.cc):
            return self.row.name
        return _("{name}, {bytes}-byte banks", name=self.row.name, bytes=self.bank_bytes)

    @property
    def key(self) -> str:
        """The same in a URL and on the command line: ``9.0``, or ``3.5-8`` for the 8-byte bank mode."""
        return self.row.name if self == Hardware.default(self.cc) else f"{self.row.name}-{self.bank_bytes}"

    @staticmethod
    def default(cc: tuple[int, int]) -> Hardware:
        """Return a compute capability in the bank mode that it starts in.

        Raises:
            InputError: when the table has no such row.
        """
        return Hardware(cc, device(cc).bank_bytes[0])

    @staticmethod
    def of(recording: Recording) -> Hardware:
        """Return what a recording was made on; of lockstep, and of what the table does not have, the H200."""
        return Hardware.on(recording.device)

    @staticmethod
    def on(card: Device | None) -> Hardware:
        """Return a card's; the H200 for none and for one that the table does not have."""
        if card is None or card.compute_capability not in {row.cc for row in known()}:
            return H200
        return Hardware.default(card.compute_capability)

    @staticmethod
    def read(text: str) -> Hardware:
        """Read a ``key``.

        Raises:
            InputError: when it is none, or no row of the table.
        """
        match = re.fullmatch(r"(\d{1,2})\.(\d)(?:-(\d))?", text)
        if match is None:
            raise InputError(f"{text!r} is not a compute capability such as 9.0, or 3.5-8 for banks of 8 bytes")
        cc = int(match[1]), int(match[2])
        hardware = Hardware(cc, int(match[3])) if match[3] else Hardware.default(cc)
        return Hardware(hardware.row.cc, hardware.bank_bytes)  # the row refuses a mode that it does not have


H200 = Hardware()


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


def _log2(n: int) -> int:
    return n.bit_length() - 1
