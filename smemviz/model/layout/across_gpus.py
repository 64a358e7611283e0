"""One access on every GPU: what it costs there, and which rule makes the difference to another GPU.

The rules of two GPUs differ in a few respects. They are exchanged one after the other, and each time the access is
counted again: what changes the count is what makes the difference.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smemviz.errors import InputError
from smemviz.model.counting.service import serve
from smemviz.model.hardware.compute_capability import Basis, ComputeCapability, known
from smemviz.model.hardware.hardware import Hardware, Rule, rule_of, shared_rule
from smemviz.model.hardware.operations import basis, unpredictable

Respect = Literal["merging", "banks", "bank width", "phases", "splitting", "ways"]
# What two GPUs may differ in, and where a row of the table has it.
_RESPECTS: Mapping[Respect, str] = {
    "banks": "banks",
    "bank width": "bank_bytes",
    "phases": "phases",
    "splitting": "splits_wide",
    "ways": "more_ways",
    "merging": "merges_wide_loads",
}


class Access(NamedTuple):
    """Requests of one kind: (n, 32) byte addresses, -1 for a lane that is off; bytes per lane, operation, element."""

    addresses: NDArray[np.int64]
    width: int
    op: str
    dtype: str


class Cost(NamedTuple):
    """Wavefronts and ideal over all requests, and the worst degree."""

    wavefronts: int
    ideal: int
    degree: int


class Step(NamedTuple):
    """One respect in which two GPUs differ, and what the access costs before and after it is exchanged."""

    respect: Respect
    before: Cost
    after: Cost


@dataclass(frozen=True)
class GpuFamily:
    """Compute capabilities of one family, in one bank mode, and what the access costs on them.

    ``cost`` and ``basis`` are None where it cannot be told, which ``reason`` explains.
    """

    rows: tuple[ComputeCapability, ...]
    bank_bytes: int
    cost: Cost | None
    reason: str | None
    basis: Basis | None
    steps: tuple[Step, ...] = ()


def cost_on(access: Access, hardware: Hardware) -> Cost:
    """Count an access on a GPU.

    Raises:
        InputError: saying why it cannot be counted there.
    """
    reason = unpredictable(access.op, access.dtype, hardware.cc)
    if reason is not None:
        raise InputError(reason)
    return _cost(access, shared_rule(access.width, access.op, hardware))


def on_every_gpu(access: Access, reference: Hardware | None) -> tuple[GpuFamily, ...]:
    """Count an access on every GPU, the newest first, with what differs from a reference that can count it."""
    start = (reference.row, reference.bank_bytes) if reference else None
    gpus, families = [], defaultdict[tuple[str, int], list[ComputeCapability]](list)
    for row in reversed(known()):
        for mode in row.bank_bytes:
            families[row.family, mode].insert(0, row)
    for (_, mode), of_family in families.items():
        rows = tuple(of_family)
        try:
            cost = cost_on(access, Hardware(rows[0].cc, mode))
            steps = _steps(access, *start, rows[0], mode) if start else ()
            gpu = GpuFamily(rows, mode, cost, None, basis(access.op, access.width, rows[0].cc), steps)
        except InputError as error:
            gpu = GpuFamily(rows, mode, None, str(error), None)
        gpus.append(gpu)
    return tuple(gpus)


def _steps(
    access: Access, row: ComputeCapability, bank_bytes: int, other: ComputeCapability, other_bytes: int
) -> tuple[Step, ...]:
    """Exchange what differs; merging first where it goes and last where it comes, for it is a matter of its phases."""
    now, mode = row, bank_bytes
    order = sorted(_RESPECTS, key=lambda respect: (respect == "merging") != row.merges_wide_loads)
    steps = []
    rule = rule_of(now, access.width, access.op, mode)
    before = _cost(access, rule)
    for respect in order:
        name = _RESPECTS[respect]
        now = replace(now, **{name: getattr(other, name)})
        mode = other_bytes if name == "bank_bytes" else mode
        changed = rule_of(now, access.width, access.op, mode)
        if changed != rule:
            after = _cost(access, changed)
            steps.append(Step(respect, before, after))
            rule, before = changed, after
    return tuple(steps)


def _cost(access: Access, rule: Rule) -> Cost:
    service = serve(access.addresses, rule)
    return Cost(int(service.wavefronts.sum()), int(service.ideal.sum()), int(service.degree.max(initial=0)))
