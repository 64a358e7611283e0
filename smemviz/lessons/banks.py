"""The lessons on banks: rows, columns and words that lanes share, each counted by the model."""

import numpy as np
from numpy.typing import NDArray

from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.lessons import lab_banks, lab_tile, lesson_scene
from smemviz.i18n import N_, _, ngettext
from smemviz.lessons.lesson import Knob, Lesson, Panel, Question, Stage, Text, Values, lanes_answer, lanes_of
from smemviz.lessons.scenes import asked_of, by_model, code, wavefronts_text
from smemviz.model.hardware.hardware import H200, WARP
from smemviz.model.layout.accesses import Access
from smemviz.model.layout.layouts import Layout
from smemviz.views.layout_lab import RequestPicture, SetUp, picture
from smemviz.wording.labels import lane_ranges

_COLUMN = 5  # of the element that the first lesson asks for


def _request(layout: Layout, access: Access) -> RequestPicture:
    return picture(SetUp(layout, (access,), H200), 0, 0)


def _one_then_all(element: int, layout: Layout) -> Access:
    """Let lane 0 ask for an element, by its number, and all other requests for all there is: none is unused."""
    after = f"step*{WARP}-{WARP}+lane"
    place = f"((step<1)*{element}+(step>0)*({after}))"
    on = f"(step<1)*(lane<1)+(step>0)*({after}<{layout.rows * layout.columns})"
    steps = 1 - -layout.rows * layout.columns // WARP
    return Access(f"{place}//{layout.columns},{place}%{layout.columns},{on}", steps=steps)


def _pictures(picture: RequestPicture, caption_text: str, theme: ThemeName) -> tuple[Panel, ...]:
    """Draw the array, and the banks by wavefront, of a request."""
    caption = _("Each column is a bank, each row a wavefront. {said}", said=caption_text)
    return (
        Panel(_("Tile"), lab_tile(picture, theme=theme), caption_text),
        Panel(_("Banks by wavefront"), lab_banks(picture, theme=theme), caption),
    )


# A bank


def _bank(values: Values) -> Stage:
    row, columns = int(values["ROW"]), int(values["COLUMNS"])
    layout = Layout((4, columns), "int32")
    request = _request(layout, _one_then_all(row * columns + _COLUMN, layout))
    service = request.service()
    word, bank, banks = int(service.word[0]), int(service.bank[0]), request.setup.where.banks
    element = code(f"tile[{row}, {_COLUMN}]")

    def hint(answer: str) -> str:
        number = int(answer)
        if number == word:
            return _("{n} is the number of the word. After bank {last} comes bank 0 again.", n=number, last=banks - 1)
        if not 0 <= number < banks:
            return _("There are {banks} banks, numbered from 0 to {last}.", banks=banks, last=banks - 1)
        if number == _COLUMN:
            return ngettext(
                "That is its column. A row does not begin in bank 0 by itself: {n} word lies before this row.",
                "That is its column. A row does not begin in bank 0 by itself: {n} words lie before this row.",
                row * columns,
            )
        return _(
            "{element} is word {word} of the array. Count on from bank 0, and after bank {last} begin again.",
            element=element, word=word, last=banks - 1,
        )  # fmt: skip

    because = _(
        "{element} is word {word}, and {word} = {rounds} x {banks} + {bank}: bank {bank}.",
        element=element, word=word, rounds=word // banks, banks=banks, bank=bank,
    )  # fmt: skip

    def panels(theme: ThemeName) -> tuple[Panel, ...]:
        by_bank = _("A row of cells is a row of banks. {said}", said=because)
        return (
            Panel(_("As indexed"), lab_tile(request, theme=theme), because),
            Panel(_("Rows of banks"), lab_tile(request, view="banks", theme=theme), by_bank),
        )

    def before(theme: ThemeName) -> Panel:
        said = _("The number in a cell is the bank of its word; lane 0 asks for the cell with the question mark.")
        marks = {divmod(i, columns): str(i % banks) for i in range(min(word, banks + 2))} | {(row, _COLUMN): "?"}
        titles = _("column"), _("row")
        figure = lesson_scene((4, columns), marks, titles, said, strong=[(row, _COLUMN)], theme=theme)
        return Panel(_("Banks of the first words"), figure, said)

    question = _("A tile begins in bank 0 and has rows of {columns} words. Lane 0 asks for {element}. "
                 "Which bank answers?",
                 element=element, columns=columns)  # fmt: skip
    return Stage(Question("number", question), frozenset([str(bank)]), hint, because, by_model(), panels, before)


BANK = Lesson(
    "banks",
    N_("What a bank is"),
    N_("Find the bank of an element."),
    6,
    (
        Text(N_("Shared memory is cut into words of 4 bytes, and the words are distributed over 32 banks in turn.")),
        Text(N_("Word 0 goes to bank 0, word 31 to bank 31, word 32 to bank 0 again. The rows of an array lie there "
                "one after the other.")),
    ),
    (
        Knob("ROW", ("0", "1", "2", "3"), "2", N_("Row of the element")),
        Knob("COLUMNS", ("16", "20", "24", "32", "33"), "20", N_("Words in a row")),
    ),
    _bank,
    ({}, {"COLUMNS": "32"}, {"COLUMNS": "33"}),
    ("5", "45", "2"),
    "file=square&kernel=set_row_read_row",
    builds_on=("why",),
)  # fmt: skip


# A row


def _row(values: Values) -> Stage:
    width = int(values["WIDTH"])
    request = _request(Layout((8, 32), "float32"), Access("row", width=width))
    lanes = request.lanes()
    right, total = lanes.wavefronts, 32 * width
    at_once = total // lanes.ideal

    def hint(answer: str) -> str:
        number = int(answer)
        if number == 32:
            return _("That is one for each lane. Banks work side by side: a wavefront serves many lanes.")
        return _("The lanes ask for {total} bytes. A wavefront brings one word from each bank, {most} bytes.",
                 total=total, most=at_once)  # fmt: skip

    cost = wavefronts_text(right, lanes.ideal)
    because = _("32 lanes of {width} bytes are {total} bytes, at {most} per wavefront: {said}",
                width=width, total=total, most=at_once, said=cost)  # fmt: skip
    question = _("A warp loads along a row, {width} bytes per lane. How many wavefronts does the request take?",
                 width=width)  # fmt: skip
    return Stage(
        Question("number", question), frozenset([str(right)]), hint, because, by_model(),
        lambda theme: _pictures(request, because, theme), lambda theme: asked_of(request, theme),
    )  # fmt: skip


ROW = Lesson(
    "rows",
    N_("A warp asks at once"),
    N_("Count the wavefronts that a request along a row takes."),
    6,
    (
        Text(N_("The 32 lanes of a warp make one request together. The banks work side by side.")),
        Text(N_("One pass through the banks is a wavefront: in it each bank delivers at most one word. Lanes that walk "
                "along a row are in different banks.")),
    ),
    (Knob("WIDTH", ("4", "8", "16"), "4", N_("Bytes per lane")),),
    _row,
    ({}, {"WIDTH": "8"}, {"WIDTH": "16"}),
    ("32", "4", "128"),
    "file=square&kernel=set_row_read_row",
    builds_on=("banks", "lanes"),
)  # fmt: skip


# A column


def _column(values: Values) -> Stage:
    columns = int(values["COLUMNS"])
    request = _request(Layout((32, columns), "float32"), Access("column"))
    service, lanes_served = request.service(), request.lanes()
    right, banks = lanes_served.wavefronts, np.unique(service.bank)
    first = [int(bank) for bank in service.bank[:4]]

    def hint(answer: str) -> str:
        number = int(answer)
        if number == len(banks):
            return _("That is how many banks are asked. What counts is how many words the busiest one has to deliver.")
        if number == 1:
            return _("For that, each lane would need a bank of its own. Lanes 0, 1, 2, 3 are in {a}, {b}, {c}, {d}.",
                     a=first[0], b=first[1], c=first[2], d=first[3])  # fmt: skip
        if number == 32:
            return _("For that, all lanes would have to be in one bank. Lane 0 is in bank {a}, lane 1 in bank {b}.",
                     a=first[0], b=first[1])  # fmt: skip
        return ngettext(
            "From lane to lane the address moves on by {columns} words. All 32 words lie in the same bank.",
            "From lane to lane the address moves on by {columns} words. All 32 words lie in {n} banks.",
            len(banks), columns=columns,
        )  # fmt: skip

    because = ngettext(
        "All 32 words lie in the same bank. {said}",
        "All 32 words lie in {n} banks, {each} in each of them. {said}",
        len(banks), each=32 // len(banks), said=wavefronts_text(right, lanes_served.ideal),
    )  # fmt: skip
    question = _("Rows are {columns} words long, and lane i loads {code}. How many wavefronts does that take?",
                 columns=columns, code=code("tile[i, 0]"))  # fmt: skip
    return Stage(
        Question("number", question), frozenset([str(right)]), hint, because, by_model(),
        lambda theme: _pictures(request, because, theme), lambda theme: asked_of(request, theme),
    )  # fmt: skip


COLUMN = Lesson(
    "columns",
    N_("Down a column"),
    N_("Count the wavefronts that a request down a column takes."),
    7,
    (
        Text(N_("A bank delivers one word in a wavefront. Lanes that want different words of one bank collide and wait "
                "in turn: that is a bank conflict, n-way where n different words of one bank are wanted.")),
        Text(N_("Down a column the address moves on by a whole row from lane to lane. The length of a row decides.")),
    ),
    (Knob("COLUMNS", ("8", "12", "16", "24", "32", "64"), "32", N_("Words in a row")),),
    _column,
    ({}, {"COLUMNS": "16"}, {"COLUMNS": "8"}, {"COLUMNS": "12"}),
    ("1", "16", "31"),
    "file=square&kernel=set_row_read_col",
    builds_on=("rows",),
)  # fmt: skip


# One word for many lanes

_ASKED = 3  # the lane in question


def _share(values: Values) -> Stage:
    share, columns = int(values["SHARE"]), int(values["COLUMNS"])
    row = "i" if share == 1 else f"i // {share}"
    request = _request(Layout((max(8, WARP // share), columns), "float32"), Access(f"lane // {share}, 0"))
    service, lanes_served = request.service(), request.lanes()
    word, bank = int(service.word[_ASKED]), int(service.bank[_ASKED])
    colliding = _lanes(service.lane, (service.bank == bank) & (service.word != word))
    same_word = _lanes(service.lane, service.word == word)

    def hint(answer: str) -> str:
        lanes = lanes_of(answer)
        if _ASKED in lanes:
            return _("Lane {asked} does not collide with itself.", asked=_ASKED)
        for lane in lanes:
            if lane in same_word:
                return _("Lane {lane} asks for the same word as lane {asked}. A bank delivers it to all who want it.",
                         lane=lane, asked=_ASKED)  # fmt: skip
            if lane not in colliding:
                return _("Lane {lane} is in bank {other}, lane {asked} in bank {bank}.",
                         lane=lane, other=int(service.bank[lane]), asked=_ASKED, bank=bank)  # fmt: skip
        if not lanes:
            return _(
                "Some do. Lane {asked} is in bank {bank}: who else wants another word of it?", asked=_ASKED, bank=bank
            )
        return ngettext(
            "{n} lane is right, but more of them collide.", "{n} lanes are right, but more of them collide.", len(lanes)
        )

    cost = wavefronts_text(lanes_served.wavefronts, lanes_served.ideal)
    if colliding:
        because = _("Lane {asked} wants word {word} of bank {bank}, lanes {lanes} want other words of that bank. "
                    "{said}", asked=_ASKED, word=word, bank=bank, lanes=lane_ranges(colliding), said=cost)  # fmt: skip
    else:
        because = _("No lane wants a different word of bank {bank}. {said}",
                    bank=bank, said=cost)  # fmt: skip
    question = _("Rows are {columns} words long, and lane i loads {code}. Which lanes collide with lane {asked}?",
                 columns=columns, code=code(f"tile[{row}, 0]"), asked=_ASKED)  # fmt: skip
    return Stage(
        Question("lanes", question), frozenset([lanes_answer(colliding)]), hint, because, by_model(),
        lambda theme: _pictures(request, because, theme), lambda theme: asked_of(request, theme),
    )  # fmt: skip


def _lanes(lane: NDArray[np.int64], where: NDArray[np.bool_]) -> list[int]:
    return [int(number) for number in lane[where]]


SHARED_WORD = Lesson(
    "words",
    N_("One word for many lanes"),
    N_("Tell lanes that collide from lanes that share a word, which is broadcast to them."),
    6,
    (
        Text(N_("A conflict takes two different words of one bank. Any number of lanes may want the same word.")),
        Text(N_("When they load it, the bank delivers it once and broadcasts it. When they store to it, one of their "
                "values is kept, and which one is undefined.")),
    ),
    (
        Knob("SHARE", ("1", "2", "4", "8", "32"), "4", N_("Lanes that share a word")),
        Knob("COLUMNS", ("8", "16", "32"), "8", N_("Words in a row")),
    ),
    _share,
    ({}, {"SHARE": "1"}, {"SHARE": "32"}),
    ("0-2", "none", "16"),
    "file=matmul&kernel=tiled",
    builds_on=("columns",),
)  # fmt: skip
