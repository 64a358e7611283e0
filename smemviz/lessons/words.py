"""Sentences that several lessons say."""

from __future__ import annotations

from smemviz.i18n import _, ngettext
from smemviz.model.hardware.compute_capability import device
from smemviz.model.hardware.hardware import H200
from smemviz.recordings.recording import Recording


def code(text: str) -> str:
    """Write code so that no line breaks in it."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def wavefronts_text(wavefronts: int, ideal: int) -> str:
    """Say what a request costs, and what would do."""
    if wavefronts == ideal:
        return ngettext("{n:,} wavefront, as few as can be.", "{n:,} wavefronts, as few as can be.", wavefronts)
    return ngettext(
        "{n:,} wavefront where {ideal:,} would do.",
        "{n:,} wavefronts where {ideal:,} would do.",
        wavefronts,
        ideal=ideal,
    )


def by_model() -> str:
    """Say what a count rests on where no kernel ran."""
    return _("Counted by the rule for compute capability {cc}, as measured on an H200.", cc=device(H200.cc).name)


def by_recording(recording: Recording) -> str:
    """Say what ran the kernel whose requests are counted."""
    file = recording.file.rpartition("/")[2]
    if recording.device is None:
        return _("Counted from a lockstep run of {file} with these constants.", file=file)
    return _("Counted from a recording of {file} on an {gpu}.", file=file, gpu=recording.device.name)
