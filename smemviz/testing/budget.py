"""The budget of a test: limits that every launch it records must keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from smemviz.errors import InputError
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.testing.fixture import Smem
from smemviz.testing.limits import Limit, SiteSelection, concerns
from smemviz.testing.witness import Quantity

_QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)
_KEYS = (*_QUANTITIES, "findings", "kernel", "cc")


def check_budget(smem: Smem, arguments: tuple[Any, ...], budget: Mapping[str, Any]) -> str | None:
    """Return the text of the first witness against a budget, None when it is kept.

    ``budget`` has limits by name: ``max_degree``, ``excess``, ``sectors_per_request`` and ``findings``, which can only
    be 0; ``kernel`` when only launches of that kernel count, ``cc`` for another compute capability.

    Raises:
        InputError: for a budget that says nothing or something else, or that nothing was recorded for.
    """
    unknown = [repr(argument) for argument in arguments] + [name for name in budget if name not in _KEYS]
    if unknown or not set(budget) - {"kernel", "cc"}:
        wrong = f"not {', '.join(unknown)}" if unknown else "not nothing"
        raise InputError(f"smem_budget takes a limit for {', '.join(_KEYS[:4])}, and kernel and cc; {wrong}")
    if budget.get("findings", 0) != 0:
        raise InputError(f"smem_budget allows findings=0 or says nothing of them, not {budget['findings']!r}")
    kernel, hardware = budget.get("kernel"), Hardware(budget.get("cc", H200.cc))
    launches = [
        launch for recording in smem.recordings for launch in recording.launches if kernel in (None, launch.kernel)
    ]
    if not launches and "findings" not in budget:
        of = f" of {kernel}" if kernel else ""
        raise InputError(f"smem_budget: the test recorded no launch{of} through smem")
    for quantity in _QUANTITIES:
        if quantity not in budget:
            continue
        limit = Limit(quantity, budget[quantity])
        meant = [launch for launch in launches if concerns(launch, limit, SiteSelection())]
        if not meant:
            raise InputError(f"smem_budget: no recorded launch has an access to {limit.space} memory for {quantity}")
        for launch in meant:
            problem = smem.exceeded(launch, limit, SiteSelection(), hardware)
            if problem is not None:
                return problem.text
    if "findings" in budget:
        for recorded in launches if kernel else smem.recordings:
            problem = smem.found(recorded)
            if problem is not None:
                return problem.text
    return None
