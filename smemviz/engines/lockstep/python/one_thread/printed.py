"""What threads print that run a loop one after the other: shown once it is sure that it is not to be done again."""

from __future__ import annotations

from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.python.functions.output import MOST_LINES, show


class Printed:
    """The lines of one thread, which has the only ones, each with the name of the function that prints it."""

    def __init__(self) -> None:
        self._slot: int | None = None
        self._lines: list[tuple[str, str]] = []

    def keep(self, slot: int, function: str, line: str) -> bool:
        """Keep a line that the thread in ``slot`` prints; return whether it may, and no other has."""
        if self._slot is None:
            self._slot = slot
        if len(self._lines) <= MOST_LINES:
            self._lines.append((function, line))
        return slot == self._slot

    def show(self, machine: Machine) -> None:
        """Print what was kept."""
        for function, line in self._lines:
            show(machine, function, line)
