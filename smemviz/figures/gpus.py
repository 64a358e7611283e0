"""One access on every part, in words: what it costs, why that differs, and what the count rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from smemviz.errors import InputError
from smemviz.figures.labels import count
from smemviz.figures.served import H200, Hardware
from smemviz.model.devices import ComputeCapability, device
from smemviz.model.parts import Access, Cost, Part, Step, cost_on, on_every_part
from smemviz.recording import Calibration, CalibrationRow

GPU_HEADS = ("wavefronts", "ideal", "degree", "difference", "rests on")
_EVERY_ACCESS = ("number of banks", "bytes of a bank")  # what a calibration says of all of them


@dataclass(frozen=True)
class GpuRow:
    """A family in one bank mode, or a card of it that was calibrated.

    ``numbers`` are wavefronts, ideal and degree, empty where they cannot be told; ``difference`` is to the reference.
    """

    name: str
    capabilities: str
    hardware: Hardware
    numbers: tuple[str, ...]
    difference: str
    measured: bool
    basis: str
    reference: bool
    card: bool = False


def gpu_rows(access: Access, reference: Hardware, calibrations: Sequence[Calibration] = ()) -> tuple[GpuRow, ...]:
    """Count an access on every part, the newest first, each followed by its cards that were calibrated."""
    compared = comparable(access, reference)
    rows: list[GpuRow] = []
    for part in on_every_part(access, (compared.cc, compared.bank_bytes) if compared else None):
        rows.append(_row(part, compared, access))
        for one in calibrations:
            here = one.device.compute_capability in {row.cc for row in part.rows}
            if here and part.cost and part.bank_bytes == part.rows[0].bank_bytes[0]:
                rows.append(_card(rows[-1 - _cards_before(rows)], one, access))
    return tuple(rows)


def comparable(access: Access, reference: Hardware) -> Hardware | None:
    """Return the part to compare with: the one that is meant, or the H200 where that one cannot be counted."""
    for hardware in (reference, H200):
        try:
            cost_on(access, hardware.cc, hardware.bank_bytes)
        except InputError:
            continue
        return hardware
    return None


def gpus_headline(rows: Sequence[GpuRow]) -> str:
    """Say how far the parts differ."""
    numbers = {int(row.numbers[0].replace(",", "")) for row in rows if row.numbers}
    if not numbers:
        return "It cannot be counted on any part"
    if len(numbers) == 1:
        return f"{count(min(numbers), 'wavefront')} on every part that can do it"
    return f"From {min(numbers):,} to {count(max(numbers), 'wavefront')}, by the part"


def _cards_before(rows: Sequence[GpuRow]) -> int:
    """Return how many of the last rows are cards."""
    return next(i for i, row in enumerate(reversed(rows)) if not row.card)


def _row(part: Part, compared: Hardware | None, access: Access) -> GpuRow:
    first = part.rows[0]
    hardware = Hardware(first.cc, part.bank_bytes)
    is_reference = compared is not None and compared.bank_bytes == part.bank_bytes
    is_reference = is_reference and compared is not None and compared.cc in {row.cc for row in part.rows}
    modes = len(first.bank_bytes) > 1
    name = f"{first.family}, {part.bank_bytes}-byte banks" if modes else first.family
    capabilities = ", ".join(row.name for row in part.rows)
    if part.cost is None or part.basis is None:
        return GpuRow(name, capabilities, hardware, (), part.reason or "", False, "", False)
    difference = "The others are compared with this." if is_reference else _difference(part, compared, access)
    measured = part.basis.kind == "measured"
    return GpuRow(
        name, capabilities, hardware, _numbers(part.cost), difference, measured, part.basis.source, is_reference
    )


def _numbers(cost: Cost) -> tuple[str, ...]:
    return (f"{cost.wavefronts:,}", f"{cost.ideal:,}", f"{cost.degree}-way")


def _difference(part: Part, compared: Hardware | None, access: Access) -> str:
    """Say which rules differ, those that change the count first."""
    if compared is None or not part.steps:
        return "The same rules."
    then = device(compared.cc)
    matter = [step for step in part.steps if step.before != step.after]
    idle = [step for step in part.steps if step.before == step.after]
    said = [f"{_rule_said(step, then, part, access)}: {_effect(step)}" for step in matter]
    if idle:
        rules = "; ".join(_rule_said(step, then, part, access) for step in idle)
        said.append(f"{'no difference here' if matter else 'no difference'}: {rules}")
    return ". ".join(f"{text[0].upper()}{text[1:]}" for text in said) + "."


def _effect(step: Step) -> str:
    if step.before.wavefronts != step.after.wavefronts:
        return f"{step.before.wavefronts:,} → {count(step.after.wavefronts, 'wavefront')}"
    if step.before.ideal != step.after.ideal:
        return f"ideal {step.before.ideal:,} → {step.after.ideal:,}"
    return f"{step.before.degree}-way → {step.after.degree}-way"


def _rule_said(step: Step, then: ComputeCapability, part: Part, access: Access) -> str:
    """Say in what the part's rule differs."""
    now = part.rows[0]
    match step.respect:
        case "banks":
            return f"{now.banks} banks, not {then.banks}"
        case "bank width" if part.bank_bytes == 8:
            return "bank mode: banks of 8 bytes, two words side by side are one"
        case "bank width" if len(now.bank_bytes) > 1:
            return "bank mode: words 32 apart in one segment of 64 do not conflict"
        case "bank width":
            return "bank mode: banks of 4 bytes, every word is its own"
        case "phases":
            served, before = now.phases[access.width], then.phases[access.width]
            return f"phases: {access.width}-byte accesses are served {served} lanes at a time, not {before}"
        case "splitting":
            wide = "split into 4-byte requests" if now.splits_wide else "not split into 4-byte requests"
            return f"phases: wide accesses are {wide}"
        case "merging":
            merged = "double" if now.merges_wide_loads else "never double"
            return f"merge rule: phases {merged} for wide loads whose lanes pair up"


def _card(of: GpuRow, calibration: Calibration, access: Access) -> GpuRow:
    """Say what a calibration found of the rules that count this access."""
    found = [row for row in calibration.rows if _concerns(row, access)]
    date = datetime.fromisoformat(calibration.date)
    when = f"{date.day} {date:%B %Y}"
    kind = f"{access.op.replace('_', ' ')} of {access.width} bytes"
    deviating = [row for row in found if not row.agrees]
    if deviating:
        said = "; ".join(f"{row.what}: {row.card}, the model has {row.model}" for row in deviating)
        difference, basis = f"This card deviates, so that the count may not hold. {said}.", f"Measured, {when}."
    elif len(found) > len(_EVERY_ACCESS):
        difference, basis = "", f"By the card's clock, {when}: all {len(found)} assumptions about {kind} hold."
    else:
        difference, basis = "", f"smemviz calibrate, {when}, did not ask for {kind}; banks are as assumed."
    name, capability = calibration.device.name, device(calibration.device.compute_capability).name
    measured = len(found) > len(_EVERY_ACCESS)
    return GpuRow(name, capability, of.hardware, of.numbers, difference, measured, basis, False, card=True)


def _concerns(row: CalibrationRow, access: Access) -> bool:
    return row.what in _EVERY_ACCESS or row.what.startswith(f"{access.op}, {access.width} bytes: ")
