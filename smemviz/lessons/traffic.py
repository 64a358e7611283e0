"""The last lessons: sectors, what a tile saves, and what the compiler changes; counted from recordings."""

from __future__ import annotations

import numpy as np

from smemviz.errors import RecordingError
from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.lesson_bars import Bar, lesson_bars
from smemviz.figures.matmul.loads import Saving, loads_bars
from smemviz.figures.sectors import sectors as draw_sectors
from smemviz.figures.source import source
from smemviz.frontends.listing import kernel_lines
from smemviz.i18n import N_, _, ngettext
from smemviz.lessons.bench import look, recorded
from smemviz.lessons.lesson import Knob, Lesson, Panel, Question, Said, Stage, Values
from smemviz.lessons.words import by_recording, code
from smemviz.model.counting.matmul import traffic
from smemviz.model.counting.sectors import bytes_used, fewest_sectors, sectors
from smemviz.recordings.data import SECTOR_BYTES, WARP_SIZE
from smemviz.recordings.sweep import Size
from smemviz.wording.labels import number

# Sectors


def _sectors(values: Values) -> Stage:
    kernel = values["KERNEL"]
    seen = look(recorded("transpose", {"TILE": int(values["TILE"])}, (kernel,)), kernel, "load", "global")
    site = seen.launch.sites[seen.site]
    right, used = int(sectors(seen.addresses, site.width)), int(bytes_used(seen.addresses, site.width))
    fewest = int(fewest_sectors(np.asarray(used)))
    apart = int(seen.addresses[1] - seen.addresses[0])
    row = next(array.strides[0] for array in seen.launch.arrays if array.name == site.array)

    def hint(given: str) -> str:
        number = int(given)
        if number < fewest:
            return _("The warp loads {used} bytes, and a sector has {size}. That is too few to hold them.",
                     used=used, size=SECTOR_BYTES)  # fmt: skip
        if number > WARP_SIZE:
            return _("A lane loads {width} bytes, which lie in one sector. There are 32 lanes.", width=site.width)
        return _("Lane 1 loads {apart} bytes after lane 0, and a sector is {size} bytes. How many lanes meet in one?",
                 apart=apart, size=SECTOR_BYTES)  # fmt: skip

    if right == fewest:
        because = _("Neighbouring lanes load neighbouring bytes: {used} bytes fill {sectors} sectors: coalesced.",
                    used=used, sectors=right)  # fmt: skip
    else:
        because = _("{sectors} sectors, {moved:,} bytes, are moved for {used} bytes where {fewest} sectors would do.",
                    sectors=right, moved=right * SECTOR_BYTES, used=used, fewest=fewest)  # fmt: skip
    question = _("Blocks have {tile} x {tile} threads, x is the column. A warp loads {code}: {width} bytes a lane, "
                 "from rows of {row} bytes. How many sectors does that move?",
                 tile=values["TILE"], code=code(site.source), width=site.width, row=row)  # fmt: skip
    return Stage(
        Question("number", question), frozenset([str(right)]), hint, because, by_recording(seen.recording),
        lambda theme: (Panel(_("Bytes, lines and sectors"), draw_sectors(seen.request, theme=theme), because),),
    )  # fmt: skip


SECTORS = Lesson(
    "sectors",
    N_("Global memory moves sectors"),
    N_("A load fetches every sector of 32 bytes that it touches, whole."),
    (
        Said(N_("Global memory has no banks to count. What counts is sectors, aligned pieces of 32 bytes; an access is "
                "coalesced when it touches as few as possible.")),
        Said(N_("A transpose that loads down the columns touches a sector for each row. A tile in shared memory lets "
                "it load and store along rows.")),
    ),
    (
        Knob("KERNEL", ("copy", "load_columns_store_rows"), "load_columns_store_rows", N_("The load goes"),
             {"copy": N_("along rows"), "load_columns_store_rows": N_("down columns")}),
        Knob("TILE", ("8", "16", "32"), "32", N_("Threads along a side of the block")),
    ),
    _sectors,
    ({}, {"TILE": "8"}, {"KERNEL": "copy"}),
)  # fmt: skip


# What a tile saves

_PRODUCTS = ("naive", "tiled")


def _saving(values: Values) -> Stage:
    tile = int(values["TILE"])
    recording = recorded("matmul", {"TILE": tile}, _PRODUCTS)
    naive, tiled = (traffic(recording[kernel]) for kernel in _PRODUCTS)
    size = Size(*(int(recording.constants[name]) for name in ("M", "K", "N")))
    if naive.elements_loaded is None or not tiled.elements_loaded:
        raise RecordingError(f"{recording.file}: the lanes of its loads were not logged")
    loaded, shared = naive.elements_loaded, tiled.elements_loaded
    right = loaded // shared

    def hint(given: str) -> str:
        count = int(given)
        if count == tile * tile:
            return _("A block has so many threads. But an element of a tile serves one row or column of them: {tile}.",
                     tile=tile)  # fmt: skip
        if count == 2:
            return _("Two tiles are loaded, but each for many threads. How many of them use one element of a?")
        return _("Without tiles a thread loads {k} elements of a and {k} of b. How many threads can share one?",
                 k=size.k)  # fmt: skip

    because = _("{naive:,} elements without tiles, {tiled:,} with them: each is loaded once for {times} threads. "
                "Sectors fall by a factor of {sectors} only, because lanes of one warp that read the same sector "
                "already shared it.", naive=loaded, tiled=shared, times=right,
                sectors=number(naive.load_sectors / tiled.load_sectors))  # fmt: skip
    question = _("Matrices of {size} x {size}, tiles of {tile} x {tile}. By what factor do tiles reduce the elements "
                 "loaded from global memory?", size=size.m, tile=tile)  # fmt: skip
    saving = Saving(tile, size, naive, tiled)
    return Stage(
        Question("number", question), frozenset([str(right)]), hint, because, by_recording(recording),
        lambda theme: (Panel(_("What tiles save"), loads_bars([saving], theme=theme), because),),
    )  # fmt: skip


TILES = Lesson(
    "tiles",
    N_("What a tile saves"),
    N_("A block loads each element once for many threads."),
    (
        Said(N_("For a matrix product without tiles each thread loads a whole row of a and a whole column of b.")),
        Said(N_("With tiles the block loads a piece of both into shared memory, and its threads read it there.")),
    ),
    (Knob("TILE", ("8", "16", "32"), "16", N_("Side of a tile")),),
    _saving,
    ({}, {"TILE": "8"}, {"TILE": "32"}),
)


# The compiler

_LOADS = ("a_tile[ty, k]", "b_tile[k, tx]")  # from shared memory, in the innermost loop


def _merged(values: Values) -> Stage:
    recording = recorded("matmul")
    seen = look(recording, "tiled", "load", "shared", _LOADS.index(values["LOAD"]))
    if not seen.launch.hardware:
        raise RecordingError(f"{recording.file}: the hardware's counters are not in the recording")
    site, counted = seen.launch.sites[seen.site], seen.launch.hardware[seen.site]
    requests = seen.launch.summary()[seen.site].requests
    right = counted.requests
    rows = seen.launch.requests.addresses[seen.launch.requests.site == seen.site]
    warp = seen.launch.requests.warp[seen.launch.requests.site == seen.site]
    apart = int(np.diff(rows[warp == warp[0]][:2, 0])[0])

    def hint(given: str) -> str:
        number = int(given)
        if number == requests:
            return _("That is how often the source asks for it. From k to k + 1 the address moves on by {apart} bytes, "
                     "and one instruction loads up to 16.", apart=apart)  # fmt: skip
        if apart * 2 > 16:
            return _("From k to k + 1 the address moves on by {apart} bytes. Can one instruction load two of them?",
                     apart=apart)  # fmt: skip
        return _("An element is {width} bytes, and one instruction loads up to 16. How many are left of {requests:,}?",
                 width=site.width, requests=requests)  # fmt: skip

    if right == requests:
        because = _("{n:,}, as in the source: the elements lie {apart} bytes apart, and no instruction loads two.",
                    n=right, apart=apart)  # fmt: skip
    else:
        because = ngettext(
            "{n:,} instruction for {requests:,} loads of the source: the compiler made one load of {times}.",
            "{n:,} instructions for {requests:,} loads of the source: the compiler made one load of {times}.",
            right, requests=requests, times=requests // right,
        )  # fmt: skip

    lines = kernel_lines(recording, seen.launch)

    def panels(theme: ThemeName) -> tuple[Panel, ...]:
        bars = [Bar(_("requests of the source"), requests), Bar(_("requests of the hardware"), right, answers=True)]
        if counted.wavefronts is not None:
            modelled = seen.launch.summary()[seen.site].wavefronts or 0
            bars += [Bar(_("wavefronts of the source"), modelled)]
            bars += [Bar(_("wavefronts of the hardware"), counted.wavefronts)]
        said = _("Source and hardware. {said}", said=because)
        picture = source(recording, seen.launch, lines, site=seen.site, theme=theme)
        return (
            Panel(_("Source and hardware"), lesson_bars(bars, "", _("count"), said, theme=theme), said, narrow=True),
            Panel(_("The kernel"), picture, because, narrow=True),
        )

    gpu = recording.device.name if recording.device else ""
    question = _("In the source, warps load {code} {requests:,} times. How many loads did the {gpu} count for it?",
                 code=code(site.source), requests=requests, gpu=gpu)  # fmt: skip
    return Stage(Question("number", question), frozenset([str(right)]), hint, because, by_recording(recording), panels)


COMPILER = Lesson(
    "compiler",
    N_("Why the hardware counts fewer loads"),
    N_("One instruction may do the work of several loads. Both counts are right."),
    (
        Said(N_("The source says which elements are loaded. The compiler chooses the instructions.")),
        Said(N_("In the innermost loop a lane reads {a} and {b}, k = 0, 1, 2, ... Neighbours in memory can be loaded "
                "together: up to 16 bytes a lane by one instruction."), dict(zip("ab", _LOADS, strict=True))),
    ),
    (Knob("LOAD", _LOADS, _LOADS[0], N_("Load in question")),),
    _merged,
    ({}, {"LOAD": _LOADS[1]}),
)  # fmt: skip
