"""The lessons on other mappings: a swizzle, and which threads add which elements; counted from recordings."""

from smemviz.i18n import N_, _, ngettext
from smemviz.lessons.lesson import Knob, Lesson, Question, Stage, Text, Values
from smemviz.lessons.pads import cost, pictures
from smemviz.lessons.scenes import asked_by, by_recording, code, code_of, recorded, recorded_access, wavefronts_text
from smemviz.model.playback import bank_layout
from smemviz.recordings.data import WARP_SIZE

# A swizzle

_LANE = 6  # in question


def _swizzled(values: Values) -> Stage:
    warp = int(values["WARP"])
    recording = recorded("transpose")
    access = recorded_access(recording, "swizzled_tile", "load", "shared", warp=warp)
    right = int(bank_layout(access.launch).bank(access.addresses)[_LANE])

    def hint(answer: str) -> str:
        number = int(answer)
        if number == _LANE + warp:
            return _("That is {a} + {b}. ^ compares bit by bit: a bit of the result is 1 where the two differ.",
                     a=warp, b=_LANE)  # fmt: skip
        if number == warp:
            return _("That is the column before the swizzle. In row {row} it stands at {code}.",
                     row=_LANE, code=code(f"{warp} ^ {_LANE}"))  # fmt: skip
        if number == _LANE:
            return _("That is the row. A row has 32 words, so what decides is the column {code}.",
                     code=code(f"{warp} ^ {_LANE}"))  # fmt: skip
        if number >= WARP_SIZE:
            return _("There are 32 banks, numbered from 0 to 31.")
        return _("In binary, {a} is {a:05b} and {b} is {b:05b}. Where do the bits differ?", a=warp, b=_LANE)

    wavefronts, ideal = cost(access)
    because = _("{a} ^ {b} is {a:05b} ^ {b:05b} = {bank:05b}: bank {bank}. For each lane, and so each row, that is "
                "another bank. {said}", a=warp, b=_LANE, bank=right,
                said=wavefronts_text(wavefronts, ideal))  # fmt: skip
    question = _("A tile of 32 x 32 words begins in bank 0. Element (r, c) is kept at {place}. Warp {warp} loads "
                 "column {warp}, lane i from row i. Which bank does lane {lane} ask?", place=code("held[r, c ^ r]"),
                 warp=warp, lane=_LANE)  # fmt: skip
    return Stage(
        Question("number", question), frozenset([str(right)]), hint, because, by_recording(recording),
        lambda theme: pictures(access, because, theme), lambda theme: code_of(recording, access.launch, theme),
    )  # fmt: skip


SWIZZLE = Lesson(
    "swizzle",
    N_("A swizzle instead of a pad"),
    N_("Find the bank of an element in a swizzled tile."),
    9,
    (
        Text(N_("A swizzle keeps every element in its row and changes the order within the row, by another order for "
                "each row: the column is XORed with the row, in Python and C {code}."), {"code": "c ^ r"}),
        Text(N_("The tile is as large as before, and rows stay aligned. But each access has to be written so, and rows "
                "have to be a power of two long.")),
    ),
    (Knob("WARP", ("0", "1", "5", "12", "31"), "5", N_("Warp, and column it loads")),),
    _swizzled,
    ({}, {"WARP": "1"}, {"WARP": "31"}),
    ("11", "5", "6"),
    "file=transpose&kernel=swizzled_tile",
    builds_on=("padding",),
)  # fmt: skip


# A reduction

_KERNELS = {"neighbours_by_close_threads": N_("neighbours"), "halves": N_("halves")}


def _reduction(values: Values) -> Stage:
    kernel, turn = values["KERNEL"], int(values["ROUND"])
    recording = recorded("reduce")
    access = recorded_access(recording, kernel, "load", "shared", warp=0, turn=turn)
    array, lanes = access.launch.shared_arrays[0], int((access.addresses >= 0).sum())
    step = int(access.addresses[1] - access.addresses[0]) // array.itemsize
    (right, ideal), threads = cost(access), array.shape[0]
    index = "2 * step * t" if kernel == "neighbours_by_close_threads" else "t"
    apart = 2**turn if kernel == "neighbours_by_close_threads" else threads // 2 ** (turn + 1)

    def hint(answer: str) -> str:
        number = int(answer)
        if number == lanes:
            return _("That is one for each lane at work. Lane 0 asks bank 0, lane 1 bank {bank}: not all ask one bank.",
                     bank=step % WARP_SIZE)  # fmt: skip
        if number == 1:
            twin = WARP_SIZE // step
            return _("Lane 0 asks word 0, in bank 0. Lane {lane} asks word {word}, in bank 0 as well.", lane=twin,
                     word=twin * step)  # fmt: skip
        if number == len({step * lane % WARP_SIZE for lane in range(lanes)}):
            return _("That is how many banks are asked. What counts is how many words the busiest one has to deliver.")
        return ngettext(
            "From lane to lane the address moves on by {n} word, and {lanes} lanes work. How many meet in bank 0?",
            "From lane to lane the address moves on by {n} words, and {lanes} lanes work. How many meet in bank 0?",
            step, lanes=lanes,
        )  # fmt: skip

    because = ngettext(
        "{lanes} lanes of warp 0 work, {n} word apart. {said}",
        "{lanes} lanes of warp 0 work, {n} words apart. {said}",
        step, lanes=lanes, said=wavefronts_text(right, ideal),
    )  # fmt: skip
    neighbours = _("{threads} threads add up {threads} numbers. In the round with step = {step} thread t adds "
                   "held[i + step] to held[i], i = {index}, as long as i stays within the array. How many wavefronts "
                   "does warp 0 need to load held[i]?", threads=threads, step=apart, index=code(index))  # fmt: skip
    halves = _("{threads} threads add up {threads} numbers. In the round with step = {step} each thread t < step adds "
               "held[t + step] to held[t]. How many wavefronts does warp 0 need to load held[t]?",
               threads=threads, step=apart)  # fmt: skip
    question = neighbours if kernel == "neighbours_by_close_threads" else halves
    return Stage(
        Question("number", question), frozenset([str(right)]), hint, because, by_recording(recording),
        lambda theme: pictures(access, because, theme), lambda theme: asked_by(access, theme),
    )  # fmt: skip


REDUCTION = Lesson(
    "reduction",
    N_("A reduction"),
    N_("Choose which threads add which elements, so that they do not collide."),
    9,
    (
        Text(N_("A sum of many numbers is made in rounds: each halves how many are left. If neighbours are added and "
                "the first threads do it, their elements lie further apart in each round.")),
        Text(N_("If the upper half is added to the lower half, neighbouring threads take neighbouring elements. The "
                "sum is the same.")),
    ),
    (
        Knob("KERNEL", tuple(_KERNELS), "neighbours_by_close_threads", N_("What is added"), _KERNELS),
        Knob("ROUND", ("0", "1", "2", "3", "4"), "2", N_("Round, from 0")),
    ),
    _reduction,
    ({}, {"ROUND": "4"}, {"KERNEL": "halves"}),
    ("32", "1", "4"),
    "file=reduce&kernel=neighbours_by_close_threads",
    builds_on=("words", "barrier"),
)  # fmt: skip
