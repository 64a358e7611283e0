"""One access on every GPU, in words: what it costs, why that differs, and what the count rests on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from smemviz.errors import InputError
from smemviz.i18n import N_, _, ngettext
from smemviz.model.hardware.compute_capability import BasisKind, ComputeCapability, device
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.operations import operation, unpredictable
from smemviz.model.layout.across_gpus import Access, GpuFamily, Step, cost_on, on_every_gpu
from smemviz.recordings.measured import Calibration
from smemviz.wording.labels import capital, count, day, degree_name, items, names, operation_name, sentences

GPU_HEADS = (N_("wavefronts"), N_("ideal"), N_("degree"), N_("difference"), N_("rests on"))
_EVERY_ACCESS = ("number of banks", "bytes of a bank")  # what a calibration says of all of them


@dataclass(frozen=True)
class GpuRow:
    """A family in one bank mode, or a card of it that was calibrated.

    ``numbers`` are wavefronts, ideal and degree, empty where they cannot be told; ``difference`` is to the reference.
    ``kind`` is what the numbers rest on, None without any; ``basis`` says it in a sentence.
    ``quoted`` is what an error or a calibration says further, in English.
    """

    name: str
    capabilities: str
    hardware: Hardware
    numbers: tuple[str, ...]
    difference: str
    kind: BasisKind | None
    basis: str
    reference: bool
    card: bool = False
    quoted: str = ""


def gpu_rows(access: Access, reference: Hardware, calibrations: Sequence[Calibration] = ()) -> tuple[GpuRow, ...]:
    """Count an access on every GPU, the newest first, each followed by its cards that were calibrated."""
    compared = comparable(access, reference)
    rows: list[GpuRow] = []
    for gpu in on_every_gpu(access, compared):
        row = _row(gpu, compared, access)
        rows.append(row)
        for calibration in calibrations:
            here = calibration.device.compute_capability in {row.cc for row in gpu.rows}
            if here and gpu.cost and gpu.bank_bytes == gpu.rows[0].bank_bytes[0]:
                rows.append(_card(row, calibration, access))
    return tuple(rows)


def comparable(access: Access, reference: Hardware) -> Hardware | None:
    """Return the GPU to compare with: the one that is meant, or the H200 where that one cannot be counted."""
    for hardware in (reference, H200):
        try:
            cost_on(access, hardware)
        except InputError:
            continue
        return hardware
    return None


def gpus_headline(rows: Sequence[GpuRow]) -> str:
    """Say how far the GPUs differ."""
    numbers = {int(row.numbers[0].replace(",", "")) for row in rows if row.numbers}
    if not numbers:
        return _("It cannot be counted on any GPU")
    if len(numbers) == 1:
        return _("{wavefronts} on every GPU that supports it", wavefronts=count(min(numbers), "wavefront"))
    return _("{fewest:,} to {most}, depending on the GPU", fewest=min(numbers), most=count(max(numbers), "wavefront"))


def _row(gpu: GpuFamily, compared: Hardware | None, access: Access) -> GpuRow:
    first = gpu.rows[0]
    hardware = Hardware(first.cc, gpu.bank_bytes)
    is_reference = compared is not None and compared.bank_bytes == gpu.bank_bytes
    is_reference = is_reference and compared is not None and compared.cc in {row.cc for row in gpu.rows}
    modes = len(first.bank_bytes) > 1
    name = _("{family}, {bytes}-byte banks", family=first.family, bytes=gpu.bank_bytes) if modes else first.family
    capabilities = names(*(row.name for row in gpu.rows))
    if gpu.cost is None or gpu.basis is None:
        reason = _reason(access, first)
        quoted = "" if reason else gpu.reason or ""
        return GpuRow(name, capabilities, hardware, (), reason, None, "", False, quoted=quoted)
    difference = _("Reference.") if is_reference else _difference(gpu, compared, access)
    kind, source = gpu.basis.kind, _(gpu.basis.source)
    numbers = f"{gpu.cost.wavefronts:,}", f"{gpu.cost.ideal:,}", degree_name(gpu.cost.degree)
    return GpuRow(name, capabilities, hardware, numbers, difference, kind, source, is_reference)


def _reason(access: Access, row: ComputeCapability) -> str:
    """Say why an access cannot be counted on a GPU, "" where only its error tells."""
    unknown = unpredictable(access.op, access.dtype, row.cc)
    if unknown is not None:
        return _(unknown)
    since = operation(access.op).since
    if row.cc >= since:
        return ""
    return _(
        "{op} does not exist on compute capability {name}; it came with {since}",
        op=access.op,
        name=row.name,
        since=device(since).name,
    )


def _difference(gpu: GpuFamily, compared: Hardware | None, access: Access) -> str:
    """Say which rules differ, those that change the count first."""
    if compared is None or not gpu.steps:
        return _("The same rules.")
    then = compared.row
    effects, idle = [], []
    for step in gpu.steps:
        rule = _rule_text(step, then, gpu, access)
        if step.before == step.after:
            idle.append(rule)
        else:
            effects.append(capital(_("{rule}: {effect}.", rule=rule, effect=_effect(step))))
    if idle and effects:
        effects.append(_("No difference here: {rules}.", rules=items(*idle)))
    elif idle:
        effects.append(_("No difference: {rules}.", rules=items(*idle)))
    return sentences(*effects)


def _effect(step: Step) -> str:
    if step.before.wavefronts != step.after.wavefronts:
        before, after = step.before.wavefronts, step.after.wavefronts
        return ngettext("{before:,} → {n:,} wavefront", "{before:,} → {n:,} wavefronts", after, before=before)
    if step.before.ideal != step.after.ideal:
        return _("ideal {before:,} → {after:,}", before=step.before.ideal, after=step.after.ideal)
    return f"{degree_name(step.before.degree)} → {degree_name(step.after.degree)}"


def _rule_text(step: Step, then: ComputeCapability, gpu: GpuFamily, access: Access) -> str:
    """Say in what the GPU's rule differs."""
    now = gpu.rows[0]
    match step.respect:
        case "banks":
            return _("{now} banks, not {then}", now=now.banks, then=then.banks)
        case "bank width" if gpu.bank_bytes == 8:
            return _("bank mode: banks of 8 bytes, two words side by side are one")
        case "bank width" if len(now.bank_bytes) > 1:
            return _("bank mode: words 32 apart in one segment of 64 do not conflict")
        case "bank width":
            return _("bank mode: banks of 4 bytes, every word is its own")
        case "phases":
            return _(
                "phases: {width}-byte accesses are served {now} lanes at a time, not {then}",
                width=access.width,
                now=now.phases[access.width],
                then=then.phases[access.width],
            )
        case "splitting" if now.splits_wide:
            return _("phases: 8- and 16-byte accesses are split into 4-byte requests")
        case "splitting":
            return _("phases: 8- and 16-byte accesses are not split into 4-byte requests")
        case "ways" if now.more_ways:
            return _("phases: an access of 16 bytes takes one wavefront more for every 8 lanes")
        case "ways":
            return _("phases: an access of 16 bytes takes no wavefront more for every 8 lanes")
        case "merging" if now.merges_wide_loads:
            return _("merge rule: phases double for 8- and 16-byte loads whose lanes pair up")
        case "merging":
            return _("merge rule: phases never double for 8- and 16-byte loads whose lanes pair up")


def _card(of: GpuRow, calibration: Calibration, access: Access) -> GpuRow:
    """Say what a calibration found of the rules that count this access."""
    of_access = f"{access.op}, {access.width} bytes: "
    rows = [row for row in calibration.rows if row.what in _EVERY_ACCESS or row.what.startswith(of_access)]
    when = day(datetime.fromisoformat(calibration.date))
    accesses = _("{operation} of {width} bytes", operation=operation_name(access.op), width=access.width)
    deviating = [row for row in rows if not row.agrees]
    quoted = ""
    if deviating:
        difference, basis = _("This card deviates, so the count may be wrong."), _("Measured, {date}.", date=when)
        quoted = "; ".join(f"{row.what}: {row.card}, the model has {row.model}" for row in deviating) + "."
    elif len(rows) > len(_EVERY_ACCESS):
        difference = ""
        basis = _(
            "By the card's clock, {date}: all {number} assumptions about {kind} hold.",
            date=when,
            number=len(rows),
            kind=accesses,
        )
    else:
        difference = ""
        basis = _("smemviz calibrate, {date}, did not measure {kind}; the rule is assumed.", date=when, kind=accesses)
    name, capability = calibration.device.name, device(calibration.device.compute_capability).name
    kind: BasisKind = "measured" if deviating or len(rows) > len(_EVERY_ACCESS) else "assumed"
    return GpuRow(name, capability, of.hardware, of.numbers, difference, kind, basis, False, True, quoted)
