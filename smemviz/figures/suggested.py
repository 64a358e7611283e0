"""Suggestions in words: rows of a table from what ``smemviz suggest --json`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from smemviz.figures.labels import duration
from smemviz.model.summary import summarize
from smemviz.recording import Launch


class Row(NamedTuple):
    """One suggestion: counts as texts, ``said`` what else is to be known, ``diff`` of the kernel file.

    ``measured`` is whether the file has the rewritten kernel, too, and it was recorded on a GPU.
    """

    kernel: str
    change: str
    now: str
    predicted: str
    counted: str
    time: str
    said: tuple[str, ...]
    diff: str
    measured: bool


def excess_in(launch: Launch, cc: tuple[int, int]) -> bool:
    """Whether a shared array of a launch has excess."""
    return any(row.excess for row in summarize(launch, cc))


def suggested_rows(facts: Mapping[str, Any]) -> list[Row]:
    """Return the rows of all kernels, in order."""
    return [_row(one) for one in facts["suggestions"]]


def _row(one: Mapping[str, Any]) -> Row:
    hardware = one.get("hardware")
    counted = [_counted(engine, check) for engine, check in one["verified"].items()]
    counted += [f"{hardware['after']['ncu_wavefronts']:,} by Nsight Compute"] if hardware else []
    return Row(
        one["kernel"],
        one["text"],
        f"{one['wavefronts']:,}",
        f"{one['predicted']:,}",
        ", ".join(counted) or "not written",
        _time(one["time"], hardware),
        tuple(_said(one)),
        one["diff"],
        hardware is not None,
    )


def _counted(engine: str, check: Mapping[str, Any]) -> str:
    where = "in lockstep" if engine == "lockstep" else "on the GPU"
    return f"failed {where}" if check["problem"] else f"{check['wavefronts']:,} {where}"


def _time(times: list[Mapping[str, Any]], hardware: Mapping[str, Any] | None) -> str:
    """Write the time of a kernel's launches before and after."""
    if times:
        before, after = (sum(time[when]["median_us"] for time in times) for when in ("before", "after"))
    elif hardware:
        before, after = (hardware[when]["median_us"] for when in ("before", "after"))
    else:
        return "not timed"
    return f"{duration(before)} → {duration(after)}"


def _said(one: Mapping[str, Any]) -> list[str]:
    said = [f"{one['text']}: not written, {one['reason']}."] if one["reason"] else []
    said += [f"{one['text']}: {check['problem']}." for check in one["verified"].values() if check["problem"]]
    said += [f"{one['text']} {note}." for check in one["verified"].values() for note in check["notes"]]
    if not one["complete"]:
        said.append("Counts are of the requests that were logged.")
    return said
