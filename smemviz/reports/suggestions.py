"""What was suggested and how it was verified, as plain data and as a table."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from smemviz.model.hardware.hardware import Hardware
from smemviz.model.hardware.occupancy import blocks_per_multiprocessor
from smemviz.model.layout.candidates import Pad
from smemviz.printable import printable
from smemviz.recordings.recording import Recording
from smemviz.recordings.spelling import Spelling, spelling_of
from smemviz.reports.recording import time_facts
from smemviz.reports.terminal import output_console, print_json, table_of
from smemviz.suggest import Answer, Refused, Rewrite, Suggestion
from smemviz.wording.layout_changes import change_said

if TYPE_CHECKING:
    from rich.table import Table

_ENGINES = {"lockstep": "in lockstep", "gpu": "on the GPU"}


def suggested_in_words(one: Suggestion, spelling: Spelling) -> str:
    """Say what to change: ``pad the row of tile by 1, (32, 32) -> (32, 33) (128 bytes more)``."""
    rewrite = one.rewrite or Rewrite(())
    return change_said(one.array, one.layout, one.more_bytes, rewrite.constants, spelling, written=bool(rewrite.edits))


def print_answer(recording: Recording, found: Answer, notes: Sequence[str], *, as_json: bool) -> None:
    """Print an answer."""
    if as_json:
        print_json(answer_facts(recording, found, notes))
        return
    console, spelling = output_console(), spelling_of(recording.file)

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, soft_wrap=True)

    if not found.suggested and not found.refused:
        say(f"{recording.file}: no shared array has excess; there is nothing to change")
        return
    say(f"{recording.file}: wavefronts of every access to an array; predicted from the recording, then counted")
    if found.suggested:
        console.print(_table(found.suggested, spelling))
    for one in found.suggested:
        if one.problem:
            say(f"{one.kernel}, {suggested_in_words(one, spelling)}: failed {one.problem}", "bold")
        resident = _resident(recording, one)
        if resident[0] != resident[1]:
            change = f"{resident[0]} -> {resident[1]} blocks per multiprocessor"
            say(f"{one.kernel}, {suggested_in_words(one, spelling)}: {change}")
        if one.reason:
            say(f"{one.kernel}, {suggested_in_words(one, spelling)}: not written: {one.reason}")
        if not one.complete:
            say(f"{one.kernel}: counts are of the requests that were logged")
        for note in dict.fromkeys(note for check in one.checks for note in check.notes):
            say(f"{one.kernel}, {suggested_in_words(one, spelling)}: {note}")
    for refused in found.refused:
        say(f"{refused.kernel}, {refused.array.name}: {refused.excess:,} in excess; {refused.reason}")
    for note in notes:
        say(note)
    if found.diff:
        sys.stdout.flush()
        # What goes to a file is applied, as it is.
        print(f"\n{printable(found.diff) if sys.stdout.isatty() else found.diff}", end="")


def answer_facts(recording: Recording, found: Answer, notes: Sequence[str]) -> dict[str, Any]:
    """Return an answer ready for JSON."""
    return {
        "schema": 1,
        "engine": recording.engine,
        "device": recording.device and asdict(recording.device),
        "file": recording.file,
        "sha256": recording.sha256,
        "cc": list(Hardware.of(recording).cc),
        "constants": dict(recording.constants),
        "suggestions": [_suggestion_facts(recording, one) for one in found.suggested],
        "refused": [_refused_facts(one) for one in found.refused],
        "notes": list(notes),
        "diff": found.diff,
    }


def _suggestion_facts(recording: Recording, one: Suggestion) -> dict[str, Any]:
    return {
        "kernel": one.kernel,
        "array": one.array.name,
        "line": one.array.line,
        "layout": {"kind": "pad" if isinstance(one.layout, Pad) else "swizzle", **asdict(one.layout)},
        "text": suggested_in_words(one, spelling_of(recording.file)),
        "more_bytes": one.more_bytes,
        "blocks_per_multiprocessor": _resident(recording, one),
        "instructions": one.rewrite.instructions if one.rewrite else None,
        "constants": dict(one.rewrite.constants) if one.rewrite else {},
        "reason": one.reason,
        "complete": one.complete,
        "wavefronts": one.before,
        "predicted": one.after,
        "excess_left": one.excess,
        "verified": {
            check.engine: {
                "wavefronts": sum(check.counted) if check.counted else None,
                "problem": check.problem,
                "notes": list(check.notes),
            }
            for check in one.checks
        },
        "time": [
            {"before": time_facts(before, samples=False), "after": time_facts(after, samples=False)}
            for before, after in one.times
        ],
        "diff": one.diff,
        "sites": [_promise_facts(recording, one, number) for number in range(len(one.promises))],
    }


def _resident(recording: Recording, one: Suggestion) -> list[int]:
    """Return how many blocks share a multiprocessor before and after, as shared memory and threads decide it."""
    launch = recording.launches[one.promises[0].launch]
    threads = math.prod(launch.block)
    sizes = (launch.shared_bytes, launch.shared_bytes + one.more_bytes)
    return [blocks_per_multiprocessor(size, Hardware.of(recording).cc, threads) for size in sizes]


def _promise_facts(recording: Recording, one: Suggestion, number: int) -> dict[str, Any]:
    promise = one.promises[number]
    site = recording.launches[promise.launch].sites[promise.site]
    place = {name: getattr(site, name) for name in ("line", "column", "source", "op", "width")}
    counted = {check.engine: check.counted[number] for check in one.checks if check.counted}
    costs = {"wavefronts": promise.before.wavefronts, "predicted": promise.after.wavefronts, "counted": counted}
    return {"launch": promise.launch, **place, **costs}


def _refused_facts(one: Refused) -> dict[str, Any]:
    return {
        "kernel": one.kernel,
        "array": one.array.name,
        "line": one.array.line,
        "excess": one.excess,
        "reason": one.reason,
    }


def _table(suggested: Sequence[Suggestion], spelling: Spelling) -> Table:
    from rich.text import Text

    engines = list(dict.fromkeys(check.engine for one in suggested for check in one.checks))
    timed = any(one.times for one in suggested)
    words = ("kernel", "array", "change")
    counts = ("now", "predicted", *(_ENGINES[name] for name in engines), *(["time"] if timed else []))
    table = table_of((*words, *counts), words)
    for one in suggested:
        change = suggested_in_words(one, spelling)
        counted = {check.engine: f"{sum(check.counted):,}" for check in one.checks if check.counted}
        row = [one.kernel, one.array.name, change]
        row += [f"{one.before:,}", f"{one.after:,}", *(counted.get(name, "") for name in engines)]
        row += [_times(one)] if timed else []
        table.add_row(*map(Text, row), style="bold" if one.problem else "")
    return table


def _times(one: Suggestion) -> str:
    """Write what the launches of a kernel take together, in microseconds."""
    if not one.times:
        return ""
    was, now = (sum(pair[when].median_us for pair in one.times) for when in (0, 1))
    return f"{was:.3f} -> {now:.3f} us"
