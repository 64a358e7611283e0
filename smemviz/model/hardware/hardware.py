"""The hardware whose rules count: a compute capability, in one of its bank modes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from smemviz.errors import InputError
from smemviz.i18n import _
from smemviz.messages import english
from smemviz.model.hardware.compute_capability import ComputeCapability, device, known
from smemviz.recordings.data import Device
from smemviz.recordings.recording import Recording


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
