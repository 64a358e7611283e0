"""What was suggested and how it was verified, as plain data and as a table."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from smemviz.languages import Spelling, spelling_of
from smemviz.model.hardware.compute_capability import blocks_per_multiprocessor
from smemviz.model.hardware.hardware import Hardware
from smemviz.model.layout.candidates import Pad
from smemviz.printable import printable
from smemviz.recordings.recording import Recording
from smemviz.reports.recording import time_facts
from smemviz.reports.terminal import output_console, print_json, table_of
from smemviz.suggest.answering import Answer
from smemviz.suggest.find import Refused, Suggestion
from smemviz.suggest.rewrites import Rewrite
from smemviz.suggest.turning import Cost, Turn, best
from smemviz.wording.layout_changes import change_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_ENGINES = {"lockstep": "in lockstep", "gpu": "on the GPU"}


def suggested_in_words(suggestion: Suggestion, spelling: Spelling) -> str:
    """Say what to change: ``pad the row of tile by 1, (32, 32) -> (32, 33) (128 bytes more)``."""
    rewrite = suggestion.rewrite or Rewrite(())
    return change_text(
        suggestion.array,
        suggestion.layout,
        suggestion.more_bytes,
        rewrite.constants,
        spelling,
        written=bool(rewrite.edits),
    )


def print_answer(recording: Recording, answer: Answer, notes: Sequence[str], *, as_json: bool) -> None:
    """Print an answer."""
    if as_json:
        print_json(answer_facts(recording, answer, notes))
        return
    console, spelling = output_console(), spelling_of(recording.file)

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, soft_wrap=True)

    if not answer.suggested and not answer.refused:
        nothing = "no layout" if answer.turns else "nothing"
        say(f"{recording.file}: no shared array has excess; there is {nothing} to change")
    else:
        say(f"{recording.file}: wavefronts of every access to an array; predicted from the recording, then counted")
    if answer.suggested:
        console.print(_table(answer.suggested, spelling))
    for suggestion in answer.suggested:
        if suggestion.problem:
            say(f"{suggestion.kernel}, {suggested_in_words(suggestion, spelling)}: failed {suggestion.problem}", "bold")
        resident = _resident(recording, suggestion)
        if resident[0] != resident[1]:
            change = f"{resident[0]} -> {resident[1]} blocks per multiprocessor"
            say(f"{suggestion.kernel}, {suggested_in_words(suggestion, spelling)}: {change}")
        if suggestion.reason:
            say(f"{suggestion.kernel}, {suggested_in_words(suggestion, spelling)}: not written: {suggestion.reason}")
        if not suggestion.complete:
            say(f"{suggestion.kernel}: counts are of the requests that were logged")
        for note in dict.fromkeys(note for check in suggestion.checks for note in check.notes):
            say(f"{suggestion.kernel}, {suggested_in_words(suggestion, spelling)}: {note}")
    for refused in answer.refused:
        say(f"{refused.kernel}, {refused.array.name}: {refused.excess:,} in excess; {refused.reason}")
    if answer.turns:
        _print_turns(recording, answer, console)
    for note in notes:
        say(note)
    if answer.diff:
        sys.stdout.flush()
        # What goes to a file is applied, as it is.
        print(f"\n{printable(answer.diff) if sys.stdout.isatty() else answer.diff}", end="")


def answer_facts(recording: Recording, answer: Answer, notes: Sequence[str]) -> dict[str, Any]:
    """Return an answer ready for JSON."""
    return {
        "schema": 1,
        "engine": recording.engine,
        "device": recording.device and asdict(recording.device),
        "file": recording.file,
        "sha256": recording.sha256,
        "cc": list(Hardware.of(recording).cc),
        "constants": dict(recording.constants),
        "suggestions": [_suggestion_facts(recording, suggestion) for suggestion in answer.suggested],
        "refused": [_refused_facts(refusal) for refusal in answer.refused],
        "turns": [_turn_facts(turn) for turn in answer.turns],
        "notes": list(notes),
        "diff": answer.diff,
    }


def _turn_facts(turn: Turn) -> dict[str, Any]:
    facts = asdict(turn)
    return {**facts, "saves": turn.after is not None and turn.after.price < turn.before.price}


def _print_turns(recording: Recording, answer: Answer, console: Console) -> None:
    """Print what kernels in Triton cost with each change, and which is best."""
    from rich.text import Text

    cc = Hardware.of(recording).cc
    heads = ("blocks", "threads", "shared bytes", "fit", "requests", "wavefronts", "sectors")
    table = table_of(("kernel", "line", "change", *heads), ("kernel", "change"))

    def row(kernel: str, line: str, change: str, cost: Cost) -> None:
        counts = [getattr(cost, name.replace(" ", "_")) for name in heads if name != "fit"]
        counts.insert(3, blocks_per_multiprocessor(cost.shared_bytes, cc, cost.threads))
        table.add_row(*map(Text, (kernel, line, change, *(f"{number:,}" for number in counts))))

    for kernel, turns in groupby(answer.turns, lambda turn: turn.kernel):
        of_kernel = list(turns)
        row(kernel, "", "as it is", of_kernel[0].before)
        for turn in of_kernel:
            if turn.after:
                row(kernel, str(turn.line), turn.text, turn.after)
    say = partial(console.print, soft_wrap=True)
    say("Triton lays shared memory out itself; what can be turned was run, one change at a time.")
    say('Of all launches together; "fit" is how many blocks share a multiprocessor, as shared memory and threads tell.')
    console.print(table)
    for turn in answer.turns:
        if turn.problem:
            say(f"{turn.kernel}, {turn.text}: left out: {turn.problem}")
    first = best(answer.turns)
    if first is None or first.after is None:
        say("Best of these: as it is. None of them takes fewer wavefronts.")
    else:
        was, now = first.before, first.after
        say(
            f"Best of these: line {first.line}, {first.text}: wavefronts {was.wavefronts:,} -> {now.wavefronts:,}, "
            f"sectors {was.sectors:,} -> {now.sectors:,}, shared bytes {was.shared_bytes:,} -> {now.shared_bytes:,}, "
            f"blocks {was.blocks:,} -> {now.blocks:,}"
        )
    say("Counts are no times: what stages hide and registers allow, triton.testing.do_bench tells on a GPU.")


def _suggestion_facts(recording: Recording, suggestion: Suggestion) -> dict[str, Any]:
    return {
        "kernel": suggestion.kernel,
        "array": suggestion.array.name,
        "line": suggestion.array.line,
        "layout": {"kind": "pad" if isinstance(suggestion.layout, Pad) else "swizzle", **asdict(suggestion.layout)},
        "text": suggested_in_words(suggestion, spelling_of(recording.file)),
        "more_bytes": suggestion.more_bytes,
        "blocks_per_multiprocessor": _resident(recording, suggestion),
        "instructions": suggestion.rewrite.instructions if suggestion.rewrite else None,
        "constants": dict(suggestion.rewrite.constants) if suggestion.rewrite else {},
        "reason": suggestion.reason,
        "complete": suggestion.complete,
        "wavefronts": suggestion.before,
        "predicted": suggestion.after,
        "excess_left": suggestion.excess,
        "verified": {
            check.engine: {
                "wavefronts": sum(check.counted) if check.counted else None,
                "problem": check.problem,
                "notes": list(check.notes),
            }
            for check in suggestion.checks
        },
        "time": [
            {"before": time_facts(before, samples=False), "after": time_facts(after, samples=False)}
            for before, after in suggestion.times
        ],
        "diff": suggestion.diff,
        "sites": [_promise_facts(recording, suggestion, number) for number in range(len(suggestion.promises))],
    }


def _resident(recording: Recording, suggestion: Suggestion) -> list[int]:
    """Return how many blocks share a multiprocessor before and after, as shared memory and threads decide it."""
    launch = recording.launches[suggestion.promises[0].launch]
    threads = math.prod(launch.block)
    sizes = (launch.shared_bytes, launch.shared_bytes + suggestion.more_bytes)
    return [blocks_per_multiprocessor(size, Hardware.of(recording).cc, threads) for size in sizes]


def _promise_facts(recording: Recording, suggestion: Suggestion, number: int) -> dict[str, Any]:
    promise = suggestion.promises[number]
    site = recording.launches[promise.launch].sites[promise.site]
    place = {name: getattr(site, name) for name in ("line", "column", "source", "op", "width")}
    counted = {check.engine: check.counted[number] for check in suggestion.checks if check.counted}
    costs = {"wavefronts": promise.before.wavefronts, "predicted": promise.after.wavefronts, "counted": counted}
    return {"launch": promise.launch, **place, **costs}


def _refused_facts(refusal: Refused) -> dict[str, Any]:
    return {
        "kernel": refusal.kernel,
        "array": refusal.array.name,
        "line": refusal.array.line,
        "excess": refusal.excess,
        "reason": refusal.reason,
    }


def _table(suggested: Sequence[Suggestion], spelling: Spelling) -> Table:
    from rich.text import Text

    engines = list(dict.fromkeys(check.engine for suggestion in suggested for check in suggestion.checks))
    timed = any(suggestion.times for suggestion in suggested)
    words = ("kernel", "array", "change")
    counts = ("now", "predicted", *(_ENGINES[name] for name in engines), *(["time"] if timed else []))
    table = table_of((*words, *counts), words)
    for suggestion in suggested:
        change = suggested_in_words(suggestion, spelling)
        counted = {check.engine: f"{sum(check.counted):,}" for check in suggestion.checks if check.counted}
        row = [suggestion.kernel, suggestion.array.name, change]
        row += [f"{suggestion.before:,}", f"{suggestion.after:,}", *(counted.get(name, "") for name in engines)]
        row += [_times(suggestion)] if timed else []
        table.add_row(*map(Text, row), style="bold" if suggestion.problem else "")
    return table


def _times(suggestion: Suggestion) -> str:
    """Write what the launches of a kernel take together, in microseconds."""
    if not suggestion.times:
        return ""
    was, now = (sum(pair[when].median_us for pair in suggestion.times) for when in (0, 1))
    return f"{was:.3f} -> {now:.3f} us"
