"""The lessons on global memory: sectors, and what a tile saves; counted from recordings."""

import numpy as np

from smemviz.errors import RecordingError
from smemviz.figures.matmul.loads import Saving, loads_bars
from smemviz.figures.sectors import sectors as draw_sectors
from smemviz.i18n import N_, _
from smemviz.lessons.lesson import Knob, Lesson, Panel, Question, Stage, Text, Values
from smemviz.lessons.scenes import by_recording, code, code_of, recorded, recorded_access
from smemviz.model.counting.matmul import traffic
from smemviz.model.counting.service import bytes_used, fewest_sectors, sectors
from smemviz.recordings.data import SECTOR_BYTES, WARP_SIZE
from smemviz.recordings.sweep import Size
from smemviz.wording.labels import number

# Sectors


def _sectors(values: Values) -> Stage:
    kernel = values["KERNEL"]
    access = recorded_access(recorded("transpose", {"TILE": int(values["TILE"])}, (kernel,)), kernel, "load", "global")
    site = access.launch.sites[access.site]
    right, used = int(sectors(access.addresses, site.width)), int(bytes_used(access.addresses, site.width))
    fewest = int(fewest_sectors(np.asarray(used)))
    apart = int(access.addresses[1] - access.addresses[0])
    sector = (access.addresses // SECTOR_BYTES).tolist()
    sharing = next(((sector.index(s), i) for i, s in enumerate(sector) if sector.index(s) < i), (0, 0))
    row = next(array.strides[0] for array in access.launch.arrays if array.name == site.array)

    def hint(answer: str) -> str:
        number = int(answer)
        if number < fewest:
            return _("The warp loads {used} bytes, and a sector has {size}. That is too few sectors.",
                     used=used, size=SECTOR_BYTES)  # fmt: skip
        if number > WARP_SIZE:
            return _("A lane loads {width} bytes, which lie in one sector. There are 32 lanes.", width=site.width)
        if number > right:
            first, second = sharing
            return _("Lanes {one} and {other} load from the same sector. Count a sector once, however many use it.",
                     one=first, other=second)  # fmt: skip
        return _("Lane 1's address is {apart} bytes after lane 0's, and a sector is {size} bytes. How many share one?",
                 apart=apart, size=SECTOR_BYTES)  # fmt: skip

    if right == fewest:
        because = _("Neighbouring lanes load neighbouring bytes: {used} bytes fill {sectors} sectors: coalesced.",
                    used=used, sectors=right)  # fmt: skip
    else:
        because = _("{sectors} sectors, {moved:,} bytes, are moved for {used} bytes where {fewest} sectors would do.",
                    sectors=right, moved=right * SECTOR_BYTES, used=used, fewest=fewest)  # fmt: skip
    question = _("Blocks have {tile} x {tile} threads; the column follows threadIdx.x. A warp loads {code}: {width} "
                 "bytes per lane, from rows of {row} bytes. How many sectors does that move?",
                 tile=values["TILE"], code=code(site.source), width=site.width, row=row)  # fmt: skip
    return Stage(
        Question("number", question), frozenset([str(right)]), hint, because, by_recording(access.recording),
        lambda theme: (Panel(_("Bytes, lines and sectors"), draw_sectors(access.request, theme=theme), because),),
        lambda theme: code_of(access.recording, access.launch, theme),
    )  # fmt: skip


SECTORS = Lesson(
    "sectors",
    N_("Coalescing: neighbours load neighbours"),
    N_("Count the sectors that a load of a warp moves."),
    7,
    (
        Text(N_("Global memory is moved in sectors, aligned pieces of 32 bytes, and a load fetches every sector that "
                "it touches, whole. An access is coalesced when it touches as few as possible.")),
        Text(N_("A transpose that loads down the columns touches a sector for each row. A tile in shared memory lets "
                "it load and store along rows.")),
    ),
    (
        Knob("KERNEL", ("copy", "load_columns_store_rows"), "load_columns_store_rows", N_("The load goes"),
             {"copy": N_("along rows"), "load_columns_store_rows": N_("down columns")}),
        Knob("TILE", ("8", "16", "32"), "32", N_("Threads along a side of the block")),
    ),
    _sectors,
    ({}, {"TILE": "8"}, {"KERNEL": "copy"}),
    ("4", "1", "128"),
    "file=transpose&kernel=load_columns_store_rows",
    builds_on=("lanes",),
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

    def hint(answer: str) -> str:
        count = int(answer)
        if count == tile * tile:
            return _("That is the number of threads in a block. But an element of a tile serves one row or column of "
                     "them: {tile}.",
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
        lambda theme: code_of(recording, recording["tiled"], theme),
    )  # fmt: skip


TILES = Lesson(
    "tiles",
    N_("What a tile saves"),
    N_("Work out how much less a tiled kernel loads from global memory."),
    7,
    (
        Text(N_("For a matrix product without tiles each thread loads a whole row of a and a whole column of b.")),
        Text(
            N_(
                "With tiles a block has a thread for each element of a tile. It loads a tile of a and one of b into "
                "shared memory, and its threads read them there."
            )
        ),
    ),
    (Knob("TILE", ("8", "16", "32"), "16", N_("Side of a tile")),),
    _saving,
    ({}, {"TILE": "8"}, {"TILE": "32"}),
    ("256", "2", "8"),
    "file=matmul&kernel=tiled",
    builds_on=("why", "sectors"),
)
