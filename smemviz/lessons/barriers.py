"""The lessons on filling shared memory together: who stored what a thread loads, and what a barrier is for."""

import numpy as np

from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.lessons import lesson_scene
from smemviz.i18n import N_, _, ngettext
from smemviz.lessons.lesson import Knob, Lesson, Panel, Question, Stage, Text, Values, lanes_answer, lanes_of
from smemviz.lessons.scenes import by_recording, code, code_of, recorded, recorded_access, writers
from smemviz.recordings.data import WARP_SIZE
from smemviz.wording.labels import lane_ranges

# Declare, fill, barrier, read


def _reversed(values: Values) -> Stage:
    thread = int(values["THREAD"])
    recording = recorded("reverse")
    warp, lane = divmod(thread, WARP_SIZE)
    access = recorded_access(recording, "static_reverse", "load", "shared", warp=warp)
    array = access.launch.shared_arrays[0]
    threads, address = array.shape[0], int(access.addresses[lane])
    writer_warp, writer_lane = writers(access.launch)[address]
    right = writer_warp * WARP_SIZE + writer_lane
    element = (address - array.address) // array.itemsize

    def hint(answer: str) -> str:
        number = int(answer)
        if number == thread:
            return _("Thread {thread} stored {own}, and loads {other}.", thread=thread, own=code(f"held[{thread}]"),
                     other=code(f"held[{threads} - 1 - {thread}]"))  # fmt: skip
        if number == threads - thread:
            return _("Elements are counted from 0: the last of {n} is {last}.", n=threads, last=threads - 1)
        if not 0 <= number < threads:
            return _("The block has {n} threads, 0 to {last}.", n=threads, last=threads - 1)
        return _("Thread i stores held[i]. For which i is that {element}?", element=code(f"held[{element}]"))

    because = _("{element} was stored by thread {writer}, lane {lane} of warp {warp}. Thread {thread} is of warp "
                "{own}: without the barrier it might load before that warp has stored.",
                element=code(f"held[{element}]"), writer=right, lane=writer_lane, warp=writer_warp, thread=thread,
                own=warp)  # fmt: skip
    question = _("A block of {n} threads reverses {n} numbers: thread i stores held[i], and loads {code} after the "
                 "barrier. Which thread stored what thread {thread} loads?", n=threads, thread=thread,
                 code=code(f"held[{threads} - 1 - i]"))  # fmt: skip

    def panels(theme: ThemeName) -> tuple[Panel, ...]:
        halves = (threads // WARP_SIZE, WARP_SIZE)
        stored = {(at - array.address) // array.itemsize: who for at, (who, _lane) in writers(access.launch).items()}
        marks = {divmod(i, WARP_SIZE): str(warp) for i, warp in stored.items()}
        titles = _("element, 32 in a row; in its cell the warp that stored it"), _("row")
        figure = lesson_scene(halves, marks, titles, because,
                              strong=[divmod(element, WARP_SIZE)], theme=theme)  # fmt: skip
        return (Panel(_("Which warp stored each element"), figure, because),)

    return Stage(
        Question("number", question), frozenset([str(right)]), hint, because, by_recording(recording), panels,
        lambda theme: code_of(recording, access.launch, theme),
    )  # fmt: skip


BARRIER = Lesson(
    "barrier",
    N_("Declare, fill, barrier, read"),
    N_("Write the four steps of a kernel with shared memory, and say what the third is for."),
    7,
    (
        Text(N_("A shared array is declared in the kernel. Each block has its own, for as long as the block runs, and "
                "what is in it at first is undefined.")),
        Text(N_("Each thread stores its share; at the barrier, {code}, it waits until all threads of the block have "
                "come; then it reads what others stored."), {"code": "cuda.syncthreads()"}),
    ),
    (Knob("THREAD", ("0", "5", "31", "40"), "5", N_("Thread in question")),),
    _reversed,
    ({}, {"THREAD": "31"}, {"THREAD": "40"}),
    ("5", "59", "63"),
    "file=reverse&kernel=static_reverse",
    builds_on=("why", "lanes"),
)  # fmt: skip


# Race and barrier


def _race(values: Values) -> Stage:
    radius = int(values["RADIUS"])
    recording = recorded("stencil", {"RADIUS": radius})
    access = recorded_access(recording, "from_shared_memory", "load", "shared", warp=0, turn=-1)
    stored = writers(access.launch)
    other = [lane for lane, at in enumerate(access.addresses.tolist()) if stored[at][0] != 0]
    farthest = 2 * radius

    def hint(answer: str) -> str:
        lanes = lanes_of(answer)
        for lane in lanes:
            if lane not in other:
                return _("Lane {lane} loads {element}, which thread {thread} stored, of its own warp.", lane=lane,
                         element=code(f"held[{lane + farthest}]"), thread=lane + farthest)  # fmt: skip
        if not lanes:
            return _("Some do: warp 0 stored held[0] to held[31]. Lane 31 loads {element}.",
                     element=code(f"held[{31 + farthest}]"))  # fmt: skip
        return ngettext(
            "{n} lane is right, but there are more.", "{n} lanes are right, but there are more.", len(lanes)
        )

    because = ngettext(
        "Lanes {lanes} load what warp 1 stored. Without a barrier between the stores and the loads this is a race: the "
        "result depends on which warp comes first.",
        "Lanes {lanes} load what warp 1 stored. Without a barrier between the stores and the loads this is a race: the "
        "result depends on which warp comes first.",
        len(other), lanes=lane_ranges(other),
    )  # fmt: skip
    question = _("Thread t stores held[t] and later loads {code}. Which lanes of warp 0 load an element that "
                 "another warp stored?", code=code(f"held[t + {farthest}]"))  # fmt: skip
    loaded = {(1, lane): str(lane + farthest) for lane in range(WARP_SIZE)}
    titles = _("lane of warp 0"), _("element that it stores, and element that it loads")
    rows = {(0, lane): str(lane) for lane in range(WARP_SIZE)} | loaded

    def before(theme: ThemeName) -> Panel:
        sentence = _(
            "Each lane of warp 0 with the number of the element that it stores, and below of the one it loads."
        )
        return Panel(_("Warp 0"), lesson_scene((2, WARP_SIZE), rows, titles, sentence, theme=theme), sentence)

    def panels(theme: ThemeName) -> tuple[Panel, ...]:
        strong = [(1, lane) for lane in other]
        figure = lesson_scene((2, WARP_SIZE), rows, titles, because, strong=strong, theme=theme)
        return Panel(_("Warp 0"), figure, because), code_of(recording, access.launch, theme)

    return Stage(
        Question("lanes", question), frozenset([lanes_answer(other)]), hint, because, by_recording(recording), panels,
        before,
    )  # fmt: skip


RACE = Lesson(
    "race",
    N_("Race and barrier"),
    N_("Say which loads need a barrier before them."),
    7,
    (
        Text(N_("The warps of a block run in any order. If one stores an element that another loads, and no barrier "
                "stands between, the result depends on who comes first: a race.")),
        Text(N_("{code} is that barrier. All threads of the block have to come to it, so never put it where only some "
                "of them go. Between lanes of one warp {warp} is enough."),
             {"code": "cuda.syncthreads()", "warp": "cuda.syncwarp()"}),
    ),
    (Knob("RADIUS", ("1", "2", "3", "4"), "3"),),
    _race,
    ({}, {"RADIUS": "1"}, {"RADIUS": "4"}),
    ("none", "31", "0-31"),
    "file=stencil&kernel=from_shared_memory",
    builds_on=("barrier",),
)  # fmt: skip


# The barrier before a tile is overwritten


def _overwritten(values: Values) -> Stage:
    tile, name = int(values["TILE"]), values["ARRAY"]
    recording = recorded("matmul", {"TILE": tile}, ("tiled",))
    launch = recording["tiled"]
    requests = launch.requests
    array = next(array for array in launch.shared_arrays if array.name == name)
    loads = [i for i, site in enumerate(launch.sites) if (site.op, site.array) == ("load", name)]
    here = np.isin(requests.site, loads) & (requests.block == 0)
    warps = int(requests.warp[requests.block == 0].max()) + 1
    row = array.address + array.itemsize * np.arange(tile)
    loaded = {
        (int(warp), column)
        for warp, addresses in zip(requests.warp[here], requests.addresses[here], strict=True)
        for column in np.flatnonzero(np.isin(row, addresses)).tolist()
    }
    right = sum(column == 0 for _warp, column in loaded)
    element = code(f"{name}[0, 0]")

    def hint(answer: str) -> str:
        number = int(answer)
        if number > warps:
            return _("The block has {n} threads, and 32 of them are a warp.", n=tile * tile)
        if number > right:
            return _(
                "A warp has threads of {rows} values of ty. Which warp has ty = 0?", rows=max(1, WARP_SIZE // tile)
            )
        return _("Each thread loads b_tile[k, tx] for all k, whatever its ty. Which warps have a thread with tx = 0?")

    if right > 1:
        because = _("All {n} warps load {element}. Without the second barrier the first warp to finish stores the next "
                    "tile while others still load this one: a race.", n=right, element=element)  # fmt: skip
    else:
        because = _("Only warp 0 loads it, the warp that overwrites it. For {name} alone {sync} would do; {other} "
                    "needs the barrier.",
                    name=name, sync=code("cuda.syncwarp()"), other="b_tile")  # fmt: skip
    question = _("{n} warps multiply tiles of {tile} x {tile}. Warp 0 has finished its sums and is about to store the "
                 "next tile over {element}. How many warps load that element for the sums of this tile?",
                 n=warps, tile=tile, element=element)  # fmt: skip

    def panels(theme: ThemeName) -> tuple[Panel, ...]:
        marks = dict.fromkeys(loaded, "•")
        titles = _("element of row 0 of {name}", name=name), _("warp")
        strong = [cell for cell in marks if cell[1] == 0]
        figure = lesson_scene((warps, tile), marks, titles, because, strong=strong, theme=theme)
        return (Panel(_("Which warps load row 0"), figure, because),)

    return Stage(
        Question("number", question), frozenset([str(right)]), hint, because, by_recording(recording), panels,
        lambda theme: code_of(recording, launch, theme),
    )  # fmt: skip


REUSE = Lesson(
    "reuse",
    N_("A second barrier before a tile is overwritten"),
    N_("Say which warps must have finished before a tile is overwritten."),
    7,
    (
        Text(N_("A kernel that goes tile by tile stores over the tile that its threads have just read. So its loop "
                "needs two barriers: one between storing and loading, and one before the next tile is stored.")),
        Text(N_("Without the second, a fast warp overwrites what a slow warp still needs. Such a kernel is right on "
                "many runs and wrong on some. smemviz reports it as a race.")),
    ),
    (
        Knob("ARRAY", ("a_tile", "b_tile"), "b_tile", N_("Array in question")),
        Knob("TILE", ("8", "16", "32"), "16", N_("Side of a tile")),
    ),
    _overwritten,
    ({}, {"TILE": "32"}, {"ARRAY": "a_tile"}),
    ("1", "7", "256"),
    "file=matmul&kernel=tiled",
    builds_on=("race", "tiles"),
)  # fmt: skip
