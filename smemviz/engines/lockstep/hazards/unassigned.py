"""Variables that are used by threads whose path has not assigned them, or what they were computed from.

A value that nothing comes of does no harm: threads beyond the last element compute with what they have not loaded, and
do not store it. So such a value is followed from variable to variable, and told of where it is used: in an index, a
condition, a store, a call.
"""

import ast
from collections.abc import Iterable

from smemviz.engines.lockstep.values.masks import Lanes, Mask
from smemviz.frontends.numba.assigned import Doubtful
from smemviz.recordings.findings import Facts


class Unassigned:
    """In which threads the doubtful variables of a function mean something, as it runs."""

    def __init__(self, doubtful: Doubtful, arguments: Iterable[str], entry: Mask) -> None:
        self._doubtful = doubtful
        self._means: dict[str, Lanes] = dict.fromkeys(doubtful.names.intersection(arguments), entry.lanes)
        self._made_of: dict[str, str] = {}
        self._handed_on: tuple[Lanes, str] | None = None  # where what is assigned now means nothing, and why

    def may_mean_nothing(self, name: str) -> bool:
        """Tell whether a variable is a doubtful one."""
        return name in self._doubtful.names

    def means_nothing(self, name: str) -> bool:
        """Tell whether nobody has assigned a variable."""
        return name in self._doubtful.names and name not in self._means

    def hands_on(self, node: ast.Name) -> bool:
        """Tell whether nothing comes of a read but the value of another doubtful variable."""
        return node in self._doubtful.handed_on

    def read(self, node: ast.Name, mask: Mask) -> tuple[Lanes, Facts] | None:
        """Return who uses a variable that means nothing to them, and the facts of it; None where nobody does.

        Where nobody has assigned it there is no value either, and the use is refused.
        """
        means = self._means.get(node.id)
        without = mask.lanes if means is None else mask.lanes & ~means
        if not without.any() or (means is None and not self.hands_on(node)):
            return None
        origin = self._made_of.get(node.id, node.id)
        if self.hands_on(node):
            before = self._handed_on
            self._handed_on = without if before is None else without | before[0], origin
            return None
        return without, {"name": node.id, "made_of": origin} if origin != node.id else {"name": node.id}

    def assign(self, name: str, mask: Mask) -> None:
        """Note that the threads of a mask assign a variable the value that was just computed."""
        if not self.may_mean_nothing(name):
            return
        means, before = mask.lanes, self._means.get(name)
        if self._handed_on is not None:
            nothing, self._made_of[name] = self._handed_on
            means = means & ~nothing
        self._means[name] = means if before is None else (before & ~mask.lanes) | means

    def assigned(self) -> None:
        self._handed_on = None
