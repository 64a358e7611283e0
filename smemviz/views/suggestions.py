"""Suggestions in words: rows of a table from what ``smemviz suggest --json`` prints."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from smemviz.i18n import N_, _
from smemviz.languages import Spelling, spelling_of
from smemviz.messages import say
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.layout.candidates import Pad, Swizzle
from smemviz.recordings.data import Launch
from smemviz.wording.labels import clauses, duration
from smemviz.wording.layout_changes import change_text


class Note(NamedTuple):
    """What else is to be known: a text, and what it quotes in English behind it, "" for nothing."""

    text: str
    quoted: str = ""


class Row(NamedTuple):
    """One suggestion: counts as texts, ``notes`` what else is to be known, ``diff`` of the kernel file.

    ``measured`` is whether the file has the rewritten kernel, too, and it was recorded on a GPU.
    """

    change: str
    now: str
    predicted: str
    counted: str
    time: str
    notes: tuple[Note, ...]
    diff: str
    measured: bool


def excess_in(launch: Launch, hardware: Hardware) -> bool:
    """Whether a shared array of a launch has excess."""
    return any(row.excess for row in summarize(launch, hardware))


def suggested_rows(facts: Mapping[str, Any], launches: Sequence[Launch]) -> list[Row]:
    """Return the rows of one kernel, whose launches these are, in order."""
    return [
        _row(suggestion, launches, facts)
        for suggestion in facts["suggestions"]
        if suggestion["kernel"] == launches[0].kernel
    ]


def refused_notes(facts: Mapping[str, Any], kernel: str) -> list[Note]:
    """Say for which arrays of a kernel nothing is suggested, and why."""
    refused = [refusal for refusal in facts["refused"] if refusal["kernel"] == kernel]
    return [
        _noted(refusal["reason"], N_("{subject}: {said}."), N_("{subject}:"), refusal["array"]) for refusal in refused
    ]


def _row(suggestion: Mapping[str, Any], launches: Sequence[Launch], facts: Mapping[str, Any]) -> Row:
    hardware = suggestion.get("hardware")
    counted = [_counted(engine, check) for engine, check in suggestion["verified"].items()]
    if hardware:
        counted.append(_("{wavefronts:,} by Nsight Compute", wavefronts=hardware["after"]["ncu_wavefronts"]))
    change = _change(suggestion, launches, spelling_of(facts["file"]))
    return Row(
        change,
        f"{suggestion['wavefronts']:,}",
        f"{suggestion['predicted']:,}",
        clauses(*counted) if counted else _("not written"),
        _time(suggestion["time"], hardware),
        tuple(_notes(suggestion, change)),
        suggestion["diff"],
        hardware is not None,
    )


def _change(suggestion: Mapping[str, Any], launches: Sequence[Launch], spelling: Spelling) -> str:
    """Say what to change in the spoken language; the text of the facts is English."""
    place = suggestion["array"], suggestion["line"]
    array = next(info for launch in launches for info in launch.shared_arrays if (info.name, info.line) == place)
    kinds: dict[str, type[Pad | Swizzle]] = {"pad": Pad, "swizzle": Swizzle}
    layout = kinds[suggestion["layout"]["kind"]](
        **{name: n for name, n in suggestion["layout"].items() if name != "kind"}
    )
    return change_text(
        array, layout, suggestion["more_bytes"], suggestion["constants"], spelling, written=bool(suggestion["diff"])
    )


def _counted(engine: str, check: Mapping[str, Any]) -> str:
    if check["problem"]:
        return _("failed in lockstep") if engine == "lockstep" else _("failed on the GPU")
    if engine == "lockstep":
        return _("{wavefronts:,} in lockstep", wavefronts=check["wavefronts"])
    return _("{wavefronts:,} on the GPU", wavefronts=check["wavefronts"])


def _time(times: list[Mapping[str, Any]], hardware: Mapping[str, Any] | None) -> str:
    """Write the time of a kernel's launches before and after."""
    if times:
        before, after = (sum(time[when]["median_us"] for time in times) for when in ("before", "after"))
    elif hardware:
        before, after = (hardware[when]["median_us"] for when in ("before", "after"))
    else:
        return _("not timed")
    return f"{duration(before)} → {duration(after)}"


def _notes(suggestion: Mapping[str, Any], change: str) -> Iterator[Note]:
    if suggestion["reason"]:
        whole, lead = N_("{subject}: not written, {said}."), N_("{subject}: not written,")
        yield _noted(suggestion["reason"], whole, lead, change)
    for check in suggestion["verified"].values():
        if check["problem"]:
            yield _noted(check["problem"], N_("{subject}: {said}."), N_("{subject}:"), change)
    for check in suggestion["verified"].values():
        for note in check["notes"]:
            yield _noted(note, N_("{subject} {said}."), N_("{subject}:"), change)
    if not suggestion["complete"]:
        yield Note(_("Counts are of the requests that were logged."))


def _noted(text: str, whole: str, lead: str, subject: str) -> Note:
    """Say a text of the facts of a subject, in ``whole``; one that is of no known message is quoted behind ``lead``."""
    translated = say(text)
    return (
        Note(_(lead, subject=subject), f"{text}.")
        if translated is None
        else Note(_(whole, subject=subject, said=translated))
    )
