"""A number or an array in some threads and nothing in the others: what Numba calls an Optional."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from smemviz.engines.lockstep.values.masks import Lanes


class NothingHereError(TypeError):
    """An Optional is used in threads in which it is nothing."""


@dataclass(frozen=True)
class Optional:
    """``value`` in the threads of ``there``, ``None`` in the others."""

    value: Any
    there: Lanes

    def here(self, lanes: Lanes) -> Any:
        """Return the value where all of some threads have one."""
        return self.value if self.there[lanes].all() else self
