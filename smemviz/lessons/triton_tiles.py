"""The lesson on shared memory that a compiler lays out: an operand of a dot in Triton, counted from a recording."""

import numpy as np

from smemviz.i18n import N_, _
from smemviz.lessons.lesson import Knob, Lesson, Question, Stage, Text, Values
from smemviz.lessons.pads import cost, pictures
from smemviz.lessons.scenes import by_recording, code, code_of, recorded, recorded_access, wavefronts_text
from smemviz.model.counting.service import count
from smemviz.model.playback import bank_layout
from smemviz.recordings.data import WARP_SIZE

_PIECE = 16  # bytes that ldmatrix takes of a row
_PIECES = 4  # of a row of 32 halves
_WORDS = _PIECE // 4
_ROW_WORDS = _PIECES * _WORDS


def _tile(values: Values) -> Stage:
    row = int(values["ROW"])
    access = recorded_access(recorded("triton/matmul"), "matmul", "ldmatrix_x4", "shared", warp=0)
    array = next(one for one in access.launch.shared_arrays if one.name == access.launch.sites[access.site].array)
    pieces = (access.addresses - array.address) // _PIECE
    place = int(pieces[row]) % _PIECES
    right = int(bank_layout(access.launch).bank(access.addresses)[row])
    rows = pieces // _PIECES
    unswizzled = array.address + _PIECE * (rows * _PIECES + (pieces % _PIECES ^ rows // 2 % _PIECES))
    plain = int(count(unswizzled.astype(np.int64), _PIECE, "ldmatrix_x4").wavefronts)
    word, begins = _ROW_WORDS * row + _WORDS * place, _ROW_WORDS * row % WARP_SIZE

    def hint(answer: str) -> str:
        number = int(answer)
        if number >= WARP_SIZE:
            return _("There are 32 banks, numbered from 0 to 31.")
        if number == begins:
            return _("That is where the row begins. Its piece 0 is kept at place {place}, {words} words further.",
                     place=place, words=_WORDS * place)  # fmt: skip
        if number == _WORDS * place:
            return _("That is the place within the row, and the row itself begins in bank {bank}.", bank=begins)
        return _("A row has {words} words, so row {row} begins in bank {bank}. Its piece 0 is at place {place}, and a "
                 "place has {few} words.", words=_ROW_WORDS, row=row, bank=begins, place=place, few=_WORDS)  # fmt: skip

    because = _("{row} // 2 % 4 is {place}: word {word}, bank {bank}. Each of the 8 rows begins in other banks. The "
                "four matrices take {said} Without the swizzle they would take {plain}.",
                row=row, place=place, word=word, bank=right, plain=plain,
                said=wavefronts_text(*cost(access)))  # fmt: skip
    question = _("{name} is a tile of 32 x 32 halves from bank 0 on, a row 4 pieces of 16 bytes. Piece p of row r is "
                 "at place {place}. ldmatrix takes piece 0 of 8 rows. In which bank does that of row {row} begin?",
                 name=code("a"), place=code("p ^ (r // 2 % 4)"), row=row)  # fmt: skip
    return Stage(
        Question("number", question), frozenset([str(right)]), hint, because, by_recording(access.recording),
        lambda theme: pictures(access, because, theme), lambda theme: code_of(access.recording, access.launch, theme),
    )  # fmt: skip


TRITON = Lesson(
    "triton",
    N_("What Triton does with your tile"),
    N_("Read how a compiler laid out a tile, and say what you can turn."),
    9,
    (
        Text(N_("A kernel in Triton declares no shared memory. The compiler takes it for the operands of {dot}, for "
                "what a reduction passes between warps, and where lanes exchange values, as for {trans}."),
             {"dot": "tl.dot", "trans": "tl.trans"}),
        Text(N_("It pads nothing. It swizzles pieces of 16 bytes within each row, so that copies along rows and "
                "{ldmatrix} down columns both find all banks."), {"ldmatrix": "ldmatrix"}),
        Text(N_("What is left to you is the size of the tile, and how many warps and stages share it. {suggest} tries "
                "them and compares the counts."), {"suggest": "smemviz suggest FILE"}),
    ),
    (Knob("ROW", tuple(map(str, range(8))), "5", N_("Row, and lane that asks for it")),),
    _tile,
    ({}, {"ROW": "1"}, {"ROW": "6"}),
    ("16", "8", "20"),
    "file=triton/matmul&kernel=matmul",
    builds_on=("swizzle",),
)  # fmt: skip
