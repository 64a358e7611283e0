"""The state of the card while something was measured, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from smemviz.i18n import _
from smemviz.wording.grammar import clauses, names


def described_conditions(conditions: Mapping[str, str]) -> str:
    """Write what ``measure.conditions`` read: ``SM clock 1980 MHz, power 122 W, throttled by nothing``."""
    return clauses(
        *(_CONDITIONS[name](value) if name in _CONDITIONS else f"{name} {value}" for name, value in conditions.items())
    )


def _throttled(reasons: str) -> str:
    if reasons == "nothing":
        return _("throttled by nothing")
    return _("throttled by {reasons}", reasons=names(*(_(reason) for reason in reasons.split(", "))))


_CONDITIONS: Mapping[str, Callable[[str], str]] = {
    "SM clock": lambda value: _("SM clock {value}", value=value),
    "memory clock": lambda value: _("memory clock {value}", value=value),
    "power": lambda value: _("power {value}", value=value),
    "temperature": lambda value: _("temperature {value}", value=value),
    "throttled by": _throttled,
}
