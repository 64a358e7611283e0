"""A recording as a trace in Chrome's JSON, which Perfetto opens: a process per block, a track per warp, counters.

The clock of the trace is not time: a microsecond of it is one wavefront. Requests of a block follow one another in an
order its barriers allow; one whose wavefronts are not counted takes one microsecond. Format: "Trace Event Format",
Google, the JSON object form.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from smemviz.model.counting.costs import Line, line_up
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.playback import blocks, playback_order
from smemviz.recordings.data import Launch
from smemviz.wording.labels import operation_name

Event = dict[str, Any]


def write_events(path: Path, trace_events: Iterable[Event], facts: Event) -> None:
    """Write events as a trace, one a line; ``facts`` tell where they come from."""
    with path.open("w", encoding="utf-8") as file:
        head = json.dumps({"displayTimeUnit": "ns", "otherData": facts}, ensure_ascii=False)
        file.write(f'{head[:-1]}, "traceEvents": [')
        separator = "\n"
        for event in trace_events:
            file.write(separator + json.dumps(event, ensure_ascii=False, separators=(",", ":")))
            separator = ",\n"
        file.write("\n]}\n")


def events(
    launches: Sequence[tuple[str, Launch]], block: int | None = None, hardware: Hardware = H200
) -> Iterator[Event]:
    """Return the events of all logged blocks of launches, or of one block of each."""
    process = 0
    for name, launch in launches:
        for number in [recorded for recorded in blocks(launch) if block in (None, recorded)]:
            process += 1
            lost = f" ({launch.missing:,} requests of the launch not logged)" if launch.missing else ""
            yield _about("process_name", process, 0, name=f"{name}, block {number}{lost}")
            yield _about("process_sort_index", process, 0, sort_index=process)
            yield from _block(launch, number, process, hardware)


def _block(launch: Launch, block: int, process: int, hardware: Hardware) -> Iterator[Event]:
    line = line_up(launch, playback_order(launch, block), hardware)
    for warp in np.unique(launch.requests.warp[line.rows]).tolist():
        yield _about("thread_name", process, warp + 1, name=f"warp {warp}")
        yield _about("thread_sort_index", process, warp + 1, sort_index=warp)
    requests = launch.requests
    counters = {"wavefronts": ("ideal", "excess")} | ({"sectors": ("sectors",)} if (line.sectors >= 0).any() else {})
    epoch = 0
    for i, row in enumerate(line.rows.tolist()):
        site, start = launch.sites[requests.site[row]], int(line.start[i])
        if requests.epoch[row] > epoch:
            epoch = int(requests.epoch[row])
            yield {"name": "barrier", "ph": "i", "s": "p", "pid": process, "tid": 0, "ts": start}
        yield {
            "name": f"{operation_name(site.op)} {site.source}",
            "cat": site.space,
            "ph": "X",
            "pid": process,
            "tid": int(requests.warp[row]) + 1,
            "ts": start,
            "dur": int(line.length[i]),
            "args": {
                "line": site.line,
                "step": int(requests.step[row]),
                "lanes": int((requests.addresses[row] >= 0).sum()),
                **_costs(line, i),
            },
        }
        for name, parts in counters.items():
            yield _counter(name, process, start, {part: _costs(line, i).get(part, 0) for part in parts})
    for name, parts in counters.items():
        yield _counter(name, process, int(line.start[-1] + line.length[-1]), dict.fromkeys(parts, 0))


def _costs(line: Line, i: int) -> dict[str, int]:
    """Return what is known of the cost of a request."""
    if line.sectors[i] >= 0:
        return {"sectors": int(line.sectors[i])}
    if line.wavefronts[i] < 0:
        return {}
    wavefronts, ideal = int(line.wavefronts[i]), int(line.ideal[i])
    return {"wavefronts": wavefronts, "ideal": ideal, "excess": wavefronts - ideal}


def _counter(name: str, process: int, start: int, values: dict[str, int]) -> Event:
    return {"name": name, "ph": "C", "pid": process, "ts": start, "args": values}


def _about(kind: str, process: int, thread: int, **args: str | int) -> Event:
    return {"name": kind, "ph": "M", "pid": process, "tid": thread, "args": args}
