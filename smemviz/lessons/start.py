"""The first lessons: why there is shared memory, and which lane of which warp a thread is; counted from recordings."""

import numpy as np

from smemviz.errors import RecordingError
from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.lessons import lesson_scene
from smemviz.i18n import N_, _, ngettext
from smemviz.lessons.lesson import Knob, Lesson, Panel, Question, Stage, Text, Values
from smemviz.lessons.scenes import by_recording, code, recorded, recorded_access
from smemviz.model.counting.global_traffic import elements
from smemviz.recordings.data import WARP_SIZE
from smemviz.views.published_findings import cycles

# Why shared memory

_MIDDLE = 12  # the element in question, and the thread whose own it is
_DRAWN = 25  # threads and elements


def _reuse(values: Values) -> Stage:
    radius = int(values["RADIUS"])
    recording = recorded("stencil", {"RADIUS": radius})
    launch = recording["from_global_memory"]
    access = recorded_access(recording, "from_global_memory", "load", "global")
    array = next(array for array in launch.arrays if array.name == "values")
    here = (launch.requests.site == access.site) & (launch.requests.block == 0)
    loaded = elements(array, launch.requests.addresses[here])
    thread = launch.requests.warp[here][:, np.newaxis] * WARP_SIZE + np.arange(WARP_SIZE)
    middle = radius + _MIDDLE  # values begins RADIUS elements before out
    threads = sorted(int(number) for number in thread[loaded == middle])
    right = len(threads)
    at_once = int(np.count_nonzero(loaded >= 0))
    once = len(np.unique(loaded[loaded >= 0]))

    def hint(answer: str) -> str:
        number = int(answer)
        if number == 1:
            return _("That is its own thread. Its neighbours add it up as well: how far away may they be?")
        if number == radius:
            return _("That is how many threads on one side load it. There are two sides, and the thread in the middle.")
        if number == 2 * radius:
            return _("Those are its neighbours. The thread in the middle loads it, too.")
        return ngettext(
            "Thread i loads the elements from i - {n} to i + {n}. For which i is {middle} among them?",
            "Thread i loads the elements from i - {n} to i + {n}. For which i is {middle} among them?",
            radius, middle=_MIDDLE,
        )  # fmt: skip

    because = _("Threads {first} to {last}, {times} of them, load it. The block loads {loaded:,} elements, {once:,} "
                "different ones. {latency}", first=threads[0], last=threads[-1], times=right, loaded=at_once, once=once,
                latency=_latency())  # fmt: skip
    question = _("Thread i adds up the elements from i - {radius} to i + {radius}, and loads them all from global "
                 "memory. How many threads of the block load element {middle}?", radius=radius,
                 middle=_MIDDLE)  # fmt: skip
    titles = _("element"), _("thread")
    band = {
        (int(number), int(element) - radius): "•"
        for number, element in zip(thread[loaded >= 0].tolist(), loaded[loaded >= 0].tolist(), strict=True)
        if number < _DRAWN and 0 <= element - radius < _DRAWN
    }

    def before(theme: ThemeName) -> Panel:
        own = {(0, column): "•" for row, column in band if row == _MIDDLE}
        sentence = _("The elements that thread {thread} loads.", thread=_MIDDLE)
        figure = lesson_scene((1, _DRAWN), own, titles, sentence, first=(_MIDDLE, 0), theme=theme)
        return Panel(_("What one thread loads"), figure, sentence)

    def panels(theme: ThemeName) -> tuple[Panel, ...]:
        asked = [cell for cell in band if cell[1] == _MIDDLE]
        figure = lesson_scene((_DRAWN, _DRAWN), band, titles, because, strong=asked, theme=theme)
        return (Panel(_("Who loads what"), figure, because),)

    return Stage(
        Question("number", question), frozenset([str(right)]), hint, because, by_recording(recording), panels, before
    )


def _latency() -> str:
    recording = recorded("latency")
    shared, far = (cycles(recording, kernel) for kernel in ("shared_memory", "global_memory"))
    if shared is None or far is None or recording.device is None:
        raise RecordingError(f"{recording.file}: no times are in the recording")
    return _("On an {gpu} a load that misses all caches takes {far} cycles, a load from shared memory {shared}.",
             gpu=recording.device.name, far=far, shared=shared)  # fmt: skip


WHY = Lesson(
    "why",
    N_("Why shared memory"),
    N_("Say how often threads of a block load the same data from global memory."),
    7,
    (
        Text(N_("Global memory is large and far away. Each multiprocessor has a little shared memory of its own, which "
                "all threads of a block reach and which answers much sooner.")),
        Text(N_("It pays where threads of a block want the same data: the block loads it once, and its threads share "
                "it.")),
    ),
    (Knob("RADIUS", ("1", "2", "3", "4"), "3"),),
    _reuse,
    ({}, {"RADIUS": "1"}, {"RADIUS": "4"}),
    ("1", "3", "6"),
    "file=stencil&kernel=from_global_memory",
)  # fmt: skip


# Warp, lane, thread

_X = 5  # of the thread in question
_ROWS = 4  # of the block that are drawn


def _lane(values: Values) -> Stage:
    width, y = int(values["BDIMX"]), int(values["Y"])
    recording = recorded("square", {"BDIMX": width}, ("set_row_read_row",))
    access = recorded_access(recording, "set_row_read_row", "store", "global")
    array = next(array for array in access.launch.arrays if array.name == "out")
    here = (access.launch.requests.site == access.site) & (access.launch.requests.block == 0)
    stored = elements(array, access.launch.requests.addresses[here])  # thread (x, y) stores element y * BDIMX + x
    row, lane = (int(place[0]) for place in np.nonzero(stored == y * width + _X))
    warp = int(access.launch.requests.warp[here][row])
    number = warp * WARP_SIZE + lane

    def hint(answer: str) -> str:
        wrong = int(answer)
        if wrong == number:
            return _("{n} is the number of the thread in its block. Lanes are counted from 0 again in each warp.",
                     n=wrong)  # fmt: skip
        if wrong == _X * width + y:
            return _("That counts along y first. Threads are numbered along x first, then along y.")
        if wrong == warp:
            return _("That is its warp. The lane is its place in the warp.")
        if not 0 <= wrong < WARP_SIZE:
            return _("A warp has 32 lanes, 0 to 31.")
        if wrong == _X:
            return ngettext(
                "That is x. {n} thread of the rows before comes first.",
                "That is x. {n} threads of the rows before come first.", y * width,
            )  # fmt: skip
        return _("The thread is number {y} * {width} + {x} of its block. After every 32 threads a new warp begins.",
                 y=y, width=width, x=_X)  # fmt: skip

    because = _("It is thread {y} * {width} + {x} = {number} of its block, and {number} = {warp} * 32 + {lane}: "
                "lane {lane} of warp {warp}.", y=y, width=width, x=_X, number=number, warp=warp, lane=lane)  # fmt: skip
    question = _("A block has {width} x {width} threads. Which lane is the thread with x = {x} and y = {y}?",
                 width=width, x=_X, y=y)  # fmt: skip
    titles = "threadIdx.x", "threadIdx.y"
    lanes = {
        (int(element) // width, int(element) % width): str(place)
        for row in stored
        for place, element in enumerate(row)
        if 0 <= element < _ROWS * width
    }

    def before(theme: ThemeName) -> Panel:
        sentence = _("The first rows of the block; the thread in question has a question mark.")
        figure = lesson_scene((_ROWS, width), {(y, _X): "?"}, titles, sentence, strong=[(y, _X)], theme=theme)
        return Panel(_("Threads of the block"), figure, sentence)

    def panels(theme: ThemeName) -> tuple[Panel, ...]:
        figure = lesson_scene((_ROWS, width), lanes, titles, because, strong=[(y, _X)], theme=theme)
        return (Panel(_("The lane of each thread"), figure, because),)

    return Stage(
        Question("number", question), frozenset([str(lane)]), hint, because, by_recording(recording), panels, before
    )


LANES = Lesson(
    "lanes",
    N_("Warp, lane, thread"),
    N_("Find the warp and the lane of a thread."),
    7,
    (
        Text(N_("A kernel runs once for each thread. Threads come in blocks, and a GPU runs a block in warps of 32. "
                "The number of a thread in its warp, 0 to 31, is its lane.")),
        Text(N_("Threads of a block are numbered along x first: {number}. The first 32 are warp 0, the next 32 "
                "warp 1."), {"number": code("threadIdx.y * blockDim.x + threadIdx.x")}),
    ),
    (
        Knob("BDIMX", ("8", "16", "32"), "16", N_("Threads along a side of the block")),
        Knob("Y", ("0", "1", "2", "3"), "3", N_("y of the thread")),
    ),
    _lane,
    ({}, {"BDIMX": "8"}, {"BDIMX": "32"}),
    ("53", "5", "1", "83"),
    "file=square&kernel=set_row_read_row",
)  # fmt: skip
