"""The lesson on tiles that the copy engine of Hopper stores: where a piece of a row lies, counted from a recording."""

from smemviz.i18n import N_, _
from smemviz.lessons.lesson import Knob, Lesson, Question, Stage, Text, Values
from smemviz.lessons.pads import cost, pictures
from smemviz.lessons.scenes import by_recording, code, code_of, recorded, recorded_access, wavefronts_text
from smemviz.model.playback import bank_layout

_PLAIN, _SWIZZLED = "turn_plain", "turn_swizzled"
_PIECE, _WORDS = 2, 4  # which piece of a row is asked for, and the words of one
_TURN = 1  # the second request of a warp: pieces 2 and 3


def _tile(values: Values) -> Stage:
    row, kernel = int(values["ROW"]), values["KERNEL"]
    access = recorded_access(recorded("hopper/turn.cu"), kernel, "ldmatrix_x4", "shared", warp=0, turn=_TURN)
    right = int(bank_layout(access.launch).bank(access.addresses)[row])
    place = right // _WORDS
    plain = _WORDS * _PIECE

    def hint(answer: str) -> str:
        number = int(answer)
        if number == plain:
            return _("There the piece would be without a swizzle. Row {row} has its pieces exchanged.", row=row)
        if number == place:
            return _("That is the place in the row. A place has {few} words, each in a bank of its own.", few=_WORDS)
        return _("A row has 32 words, so each begins in bank 0. A place has {few} words: multiply the place by it.",
                 few=_WORDS)  # fmt: skip

    said = wavefronts_text(*cost(access))
    if kernel == _PLAIN:
        because = _("Every row begins in bank 0, and piece {piece} has words {first} to {last} of each. The 8 rows of "
                    "a matrix are in the same 4 banks. The request takes {said}",
                    piece=_PIECE, first=plain, last=plain + _WORDS - 1, said=said)  # fmt: skip
    else:
        because = _("{piece} ^ {row} is {place}: bank {bank}. The 8 rows of a matrix are at 8 different places. The "
                    "request takes {said}", piece=_PIECE, row=row, place=place, bank=right, said=said)  # fmt: skip
    places = {_PLAIN: code("p"), _SWIZZLED: code("p ^ r % 8")}[kernel]
    question = _("A tensor copy has stored 64 rows of 64 halves from a multiple of 1,024 bytes on: a row has 128 "
                 "bytes, 8 pieces of 16. Piece p of row r is at place {place} of its row. In which bank does piece "
                 "{piece} of row {row} begin?", place=places, piece=_PIECE, row=row)  # fmt: skip
    return Stage(
        Question("number", question), frozenset([str(right)]), hint, because, by_recording(access.recording),
        lambda theme: pictures(access, because, theme),
        lambda theme: code_of(access.recording, access.launch, theme, access.launch.sites[access.site].line),
    )  # fmt: skip


TENSOR_COPIES = Lesson(
    "tensor-copies",
    N_("How tensor copies swizzle"),
    N_("Say where a tensor copy puts a piece of a tile, and which reader finds it there."),
    8,
    (
        Text(N_("On Hopper the copy engine moves whole tiles into shared memory. It cannot pad them, but swizzle them: "
                "by the address, it exchanges pieces of 16 bytes within each row of 128, 64 or 32 bytes.")),
        Text(N_("A reader has to look where the swizzle has put a piece. {wgmma} does so by itself, for its descriptor "
                "names the swizzle, and reads without conflicts in every layout that it can name. {ldmatrix} and plain "
                "loads take addresses that the kernel computes."), {"wgmma": "wgmma", "ldmatrix": "ldmatrix"}),
        Text(N_("No counter tells how many wavefronts the copy engine takes.")),
    ),
    (
        Knob("ROW", tuple(map(str, range(8))), "5", N_("Row, and lane that asks for it")),
        Knob("KERNEL", (_PLAIN, _SWIZZLED), _SWIZZLED, N_("Kernel")),
    ),
    _tile,
    ({}, {"ROW": "2"}, {"KERNEL": _PLAIN}),
    ("8", "7", "20"),
    "file=turn.cu&kernel=turn_swizzled",
    builds_on=("swizzle",),
)  # fmt: skip
