"""The lessons on padding: by one, in a rectangle, and by hand; counted from recordings of the gallery's kernels."""

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from smemviz.figures.banks import banks
from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.lessons import Bar, lesson_bars
from smemviz.figures.tile import View, tile
from smemviz.i18n import N_, _, ngettext
from smemviz.lessons.lesson import Knob, Lesson, Option, Panel, Question, Stage, Text, Values
from smemviz.lessons.scenes import (
    RecordedAccess,
    asked_by,
    asked_of,
    by_recording,
    code,
    lanes_in,
    recorded,
    recorded_access,
    wavefronts_text,
)
from smemviz.model.counting.service import count
from smemviz.model.hardware.hardware import H200
from smemviz.model.layout.accesses import Access, Totals
from smemviz.model.layout.layouts import Layout
from smemviz.model.playback import BankService, bank_layout
from smemviz.recordings.data import WARP_SIZE
from smemviz.views.layout_lab import SetUp, picture
from smemviz.wording.labels import clauses

_MOST_PAD = 32  # words; from there on rows begin where they began before


def cost(access: RecordedAccess) -> tuple[int, int]:
    """Return the wavefronts of the request, and those that would do."""
    site = access.launch.sites[access.site]
    counted = count(access.addresses, site.width, site.op)
    return int(counted.wavefronts), int(counted.ideal)


def pictures(access: RecordedAccess, sentence: str, theme: ThemeName, view: View = "declared") -> tuple[Panel, ...]:
    """Draw the shared array with the lanes of a request, and the banks that serve it."""
    array = access.launch.sites[access.site].array
    caption = _("Each column is a bank, each row a wavefront. {said}", said=sentence)
    return (
        Panel(
            _("The array: lanes, and the values it holds"),
            tile(access.request, array, view=view, theme=theme),
            sentence,
        ),
        Panel(_("Banks by wavefront: lanes above their words"), banks(access.request, theme=theme), caption),
    )


# By one


def _by_one(values: Values) -> Stage:
    pad = int(values["IPAD"])
    access = recorded_access(
        recorded("square", {"IPAD": pad}, ("set_row_read_col_pad",)), "set_row_read_col_pad", "load", "shared"
    )
    where = bank_layout(access.launch)
    in_bank = [int(bank) for bank in where.bank(access.addresses)]
    pitch = int(where.word(access.addresses)[1] - where.word(access.addresses)[0])
    right, ideal = cost(access)

    def hint(answer: str) -> str:
        number = int(answer)
        if number == WARP_SIZE:
            return _("That is what it takes without a pad. Now lane 0 is in bank {a}, lane 1 in bank {b}.",
                     a=in_bank[0], b=in_bank[1])  # fmt: skip
        if number == 1:
            twin = in_bank[1:].index(in_bank[0]) + 1
            return _("Lane 0 is in bank {a}, and so is lane {lane}.", a=in_bank[0], lane=twin)
        return _("Rows begin {pitch} words apart. Lanes 0, 1, 2, 3 are in banks {a}, {b}, {c}, {d}.",
                 pitch=pitch, a=in_bank[0], b=in_bank[1], c=in_bank[2], d=in_bank[3])  # fmt: skip

    because = ngettext(
        "Rows begin {pitch} words apart, so the column lies in {n} bank. {said}",
        "Rows begin {pitch} words apart, so the column is spread over {n} banks. {said}",
        len(set(in_bank)), pitch=pitch, said=wavefronts_text(right, ideal),
    )  # fmt: skip
    question = ngettext(
        "The tile is declared with {n} column more than it needs. How many wavefronts does a load down a column take?",
        "The tile is declared with {n} columns more than it needs. How many wavefronts does a load down a column take?",
        pad,
    ) if pad else _(
        "The tile is declared as {code}, without a pad. How many wavefronts does a load down a column take?",
        code=code("tile[32, 32]"),
    )  # fmt: skip
    return Stage(
        Question("number", question), frozenset([str(right)]), hint, because, by_recording(access.recording),
        lambda theme: pictures(access, because, theme),
        lambda theme: asked_by(access, theme, used=(WARP_SIZE, WARP_SIZE)),
    )  # fmt: skip


PADDING = Lesson(
    "padding",
    N_("A pad of one"),
    N_("Say what a pad does to a column, and what it costs."),
    8,
    (
        Text(N_("A tile of 32 x 32 words has each column in one bank. Declare it as {code}, and use it as before."),
             {"code": "tile[32, 32 + IPAD]"}),
        Text(N_("The unused words shift each row by as many banks. That costs a little shared memory and no extra "
                "instruction.")),
        Text(N_("More shared memory per block may leave room for fewer blocks: less occupancy. And a row shifted by "
                "one word is not aligned for accesses of 8 or 16 bytes (float2, float4, ldmatrix).")),
    ),
    (Knob("IPAD", ("0", "1", "2", "3", "4", "8"), "1"),),
    _by_one,
    ({}, {"IPAD": "2"}, {"IPAD": "3"}, {"IPAD": "4"}),
    ("32", "2", "33"),
    "file=square&kernel=set_row_read_col_pad",
    builds_on=("columns",),
)  # fmt: skip


# In a rectangle

_WIDE = 32


@cache
def _columns(rows: int, pad: int) -> tuple[SetUp, Totals]:
    """Count all loads down the columns of a tile of ``rows`` x 32 words."""
    setup = SetUp(Layout((rows, _WIDE), "int32", pad=pad), (Access("column"),), H200)
    return setup, setup.totals(0)


def _colliding(service: BankService) -> tuple[int, int, int]:
    """Return the first two lanes that ask one bank for different words, and the bank."""
    bank, word = service.bank.tolist(), service.word.tolist()
    pairs = ((a, b) for b in range(len(bank)) for a in range(b) if bank[a] == bank[b] and word[a] != word[b])
    a, b = next(pairs)
    return int(service.lane[a]), int(service.lane[b]), bank[a]


def _rectangle(values: Values) -> Stage:
    rows = int(values["BDIMY"])
    costs = [_columns(rows, pad)[1] for pad in range(_MOST_PAD)]
    smallest = next(pad for pad, cost in enumerate(costs) if cost.wavefronts == cost.ideal)
    columns = WARP_SIZE // rows

    def hint(answer: str) -> str:
        pad = int(answer)
        if not 0 <= pad < _MOST_PAD:
            return _("Look between 0 and {most} words.", most=_MOST_PAD - 1)
        cost = costs[pad]
        if cost.wavefronts == cost.ideal:
            return ngettext(
                "{n} word does it, but a smaller pad does, too.", "{n} words are enough, but so is a smaller pad.", pad
            )
        first, second, bank = _colliding(picture(_columns(rows, pad)[0]).service())
        return ngettext(
            "With a pad of {n} word, lanes {one} and {other} both ask bank {bank}: the loads of the whole tile "
            "take {wavefronts:,} wavefronts where {ideal:,} would do.",
            "With a pad of {n} words, lanes {one} and {other} both ask bank {bank}: the loads of the whole tile "
            "take {wavefronts:,} wavefronts where {ideal:,} would do.",
            pad, one=first, other=second, bank=bank, wavefronts=cost.wavefronts, ideal=cost.ideal,
        )  # fmt: skip

    because = ngettext(
        "A column has {rows} words, so a warp takes {n} column. With a pad of {pad} each row begins {pad} banks after "
        "the one before, which leaves room for it.",
        "A column has {rows} words, so a warp takes {n} columns. With a pad of {pad} each row begins {pad} banks after "
        "the one before, which leaves room for {n} columns side by side.",
        columns, rows=rows, pad=smallest,
    )  # fmt: skip
    question = _("The tile has {rows} rows of 32 words. Which is the smallest pad that leaves no conflict in "
                 "its columns?",
                 rows=rows)  # fmt: skip
    recording = recorded("rectangle", {"BDIMY": rows, "IPAD": smallest}, ("set_row_read_col_pad",))

    def panels(theme: ThemeName) -> tuple[Panel, ...]:
        access = recorded_access(recording, "set_row_read_col_pad", "load", "shared")
        pads = range(max(8, smallest) + 1)
        by_pad = (_("{name}: {value}", name=pad, value=costs[pad].wavefronts) for pad in pads)
        sentence = _("Wavefronts of all loads by pad: {list}.", list=clauses(*by_pad))
        bars = [Bar(str(pad), costs[pad].wavefronts, pad == smallest) for pad in pads]
        return (
            Panel(
                _("Wavefronts by pad"),
                lesson_bars(bars, _("pad in words"), _("wavefronts"), sentence, theme=theme),
                sentence,
            ),
            Panel(_("Tile with the smallest pad"), tile(access.request, "tile", theme=theme), because),
        )

    plain = picture(_columns(rows, 0)[0], 0, 0)
    return Stage(
        Question("number", question), frozenset([str(smallest)]), hint, because, by_recording(recording), panels,
        lambda theme: asked_of(plain, theme),
    )  # fmt: skip


RECTANGLE = Lesson(
    "rectangles",
    N_("Rectangles need another pad"),
    N_("Find the smallest pad for a tile that is not square."),
    8,
    (
        Text(N_("In a tile with fewer than 32 rows a warp reads down one column and continues in the next.")),
        Text(N_("Its lanes must then land in different banks within each column and across columns. A pad of one is no "
                "longer enough.")),
    ),
    (Knob("BDIMY", ("4", "8", "16", "32"), "16"),),
    _rectangle,
    ({}, {"BDIMY": "8"}, {"BDIMY": "32"}),
    ("1", "0", "16"),
    "file=rectangle&kernel=set_row_read_col_pad",
    builds_on=("padding",),
)  # fmt: skip


# By hand

_LANES = np.arange(WARP_SIZE)
_Index = Callable[[NDArray[np.int64], NDArray[np.int64], Mapping[str, int]], NDArray[np.int64]]
_INDICES: Mapping[str, tuple[str, _Index]] = {
    "flat": ("tx * BDIMY + ty", lambda tx, ty, of: tx * of["BDIMY"] + ty),
    "row": ("ty * PITCH + tx", lambda tx, ty, of: ty * of["PITCH"] + tx),
    "column": ("tx * PITCH + ty", lambda tx, ty, of: tx * of["PITCH"] + ty),
    "after": ("tx * BDIMY + ty + IPAD", lambda tx, ty, of: tx * of["BDIMY"] + ty + of["IPAD"]),
}
_KERNEL = "set_row_read_col_dyn_pad"


def _by_hand(values: Values) -> Stage:
    recording = recorded("square", {"IPAD": int(values["IPAD"])}, (_KERNEL,))
    access = recorded_access(recording, _KERNEL, "load", "shared")
    constants = {name: int(value) for name, value in recording.constants.items()}
    first = access.launch.shared_arrays[0].address
    at_site = access.launch.requests.site == access.site
    warp = access.launch.requests.warp[at_site].astype(np.int64)
    read = (access.launch.requests.addresses[at_site] - first) // access.launch.shared_arrays[0].itemsize
    words = {key: index(_LANES, warp[:, np.newaxis], constants) for key, (_text, index) in _INDICES.items()}
    right = frozenset(key for key, read_words in words.items() if np.array_equal(read_words, read))

    def hint(answer: str) -> str:
        row, lane = (int(place[0]) for place in np.nonzero(words[answer] != read))
        return _("Lane {lane} of warp {warp} wants {element}, which lies at word {word}. This index gives {wrong}.",
                 lane=lane, warp=int(warp[row]), element=code(f"[{lane}, {int(warp[row])}]"), word=int(read[row, lane]),
                 wrong=int(words[answer][row, lane]))  # fmt: skip

    wavefronts, ideal = cost(access)
    because = _("Each row takes {pitch} words, the unused ones included, so row tx begins at {start}. {said}",
                pitch=constants["PITCH"], start=code("tx * PITCH"),
                said=wavefronts_text(wavefronts, ideal))  # fmt: skip
    question = _("A block has BDIMX x BDIMY threads; tx and ty are those of threadIdx. A row has PITCH = BDIMX + IPAD "
                 "words. Which index reads down the columns, as {code} does with two dimensions?",
                 code=code("tile[tx, ty]"))  # fmt: skip
    wanted = {lane: [(lane, int(warp[0]))] for lane in range(WARP_SIZE)}
    unused = [(row, column) for row in range(WARP_SIZE) for column in range(WARP_SIZE, constants["PITCH"])]
    options = tuple(Option(key, f"tile[{text}]") for key, (text, _index) in _INDICES.items())
    return Stage(
        Question("choice", question, options), right, hint, because, by_recording(recording),
        lambda theme: pictures(access, because, theme, "physical"),
        lambda theme: lanes_in((WARP_SIZE, constants["PITCH"]), wanted, unused, theme=theme),
    )  # fmt: skip


BY_HAND = Lesson(
    "by-hand",
    N_("Padding by hand"),
    N_("Write a padded index for dynamic shared memory, which has one dimension."),
    7,
    (
        Text(N_("Shared memory whose size is given at launch has no rows: the kernel computes every index itself.")),
        Text(N_("The store and the load have to skip the unused words alike. The output has none, and its own index.")),
    ),
    (Knob("IPAD", ("1", "2", "3"), "1"),),
    _by_hand,
    ({}, {"IPAD": "2"}),
    ("flat", "row", "after"),
    "file=square&kernel=set_row_read_col_dyn_pad",
    builds_on=("padding",),
)
