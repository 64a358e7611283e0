"""Layout changes in words: what to change, and what that leaves."""

from collections.abc import Mapping

from smemviz.i18n import _, ngettext
from smemviz.languages import PYTHON, Spelling
from smemviz.model.layout.candidates import Pad, Swizzle
from smemviz.model.layout.search import LayoutFix, Score
from smemviz.recordings.data import ArrayInfo
from smemviz.wording.labels import capital, count


def fix_text(
    array: ArrayInfo,
    pad: LayoutFix[Pad] | None,
    swizzle: LayoutFix[Swizzle] | None,
    spelling: Spelling = PYTHON.spelling,
) -> str | None:
    """Say what to change and what excess that leaves at all accesses to the array, None without either."""
    changes = [pad_text(array, pad.layout, pad.more_bytes, spelling)] if pad else []
    changes += [swizzle_text(array, swizzle.layout, spelling)] if swizzle else []
    outcomes = [_outcome(fix.before, fix.after) for fix in (pad, swizzle) if fix]
    if not changes:
        return None
    if len(changes) == 1:
        return capital(_("{change}: {outcome}.", change=changes[0], outcome=outcomes[0]))
    padding, swizzling = changes
    if outcomes[0] == outcomes[1]:
        return capital(_("{pad}, or {swizzle}: {outcome}.", pad=padding, swizzle=swizzling, outcome=outcomes[0]))
    sentence = _(
        "{pad}: {pad_outcome}; or {swizzle}: {swizzle_outcome}.",
        pad=padding,
        pad_outcome=outcomes[0],
        swizzle=swizzling,
        swizzle_outcome=outcomes[1],
    )
    return capital(sentence)


def change_text(
    array: ArrayInfo,
    layout: Pad | Swizzle,
    more_bytes: int,
    constants: Mapping[str, object],
    spelling: Spelling = PYTHON.spelling,
    *,
    written: bool,
) -> str:
    """Say what to change: constants, where they make the layout, else the array.

    ``written`` is whether the file has to be changed for that.
    """
    if constants:
        set_to, more = ", ".join(f"{name} = {value}" for name, value in constants.items()), more_bytes_text(more_bytes)
        if written:
            return _("{constants} ({more})", constants=set_to, more=more)
        return _("{constants}, as the file has it ({more})", constants=set_to, more=more)
    if isinstance(layout, Pad):
        return pad_text(array, layout, more_bytes, spelling)
    return swizzle_text(array, layout, spelling)


def pad_text(array: ArrayInfo, pad: Pad, more_bytes: int, spelling: Spelling = PYTHON.spelling) -> str:
    """Say what to pad: ``pad the row of tile by 1, (32, 32) -> (32, 33) (128 bytes more)``."""
    more = more_bytes_text(more_bytes)
    if len(array.shape) < 2:
        return _(
            "leave {elements} of {array} unused after every {row}, index {index} ({more})",
            elements=count(pad.pad, "element"),
            array=array.name,
            row=pad.row,
            index=f"i + i {spelling.divide} {pad.row}{f' * {pad.pad}' if pad.pad > 1 else ''}",
            more=more,
        )
    return _(
        "pad the row of {array} by {pad}, {shape} -> {padded} ({more})",
        array=array.name,
        pad=pad.pad,
        shape=spelling.shape(array.shape),
        padded=spelling.shape((*array.shape[:-1], array.shape[-1] + pad.pad)),
        more=more,
    )


def more_bytes_text(more_bytes: int) -> str:
    """Say what a layout takes more: ``128 bytes more``."""
    return ngettext("{n:,} byte more", "{n:,} bytes more", more_bytes)


def swizzle_text(array: ArrayInfo, swizzle: Swizzle, spelling: Spelling = PYTHON.spelling) -> str:
    """Say how to index instead: ``swizzle to tile[r, c ^ r]``."""
    elements = array.nbytes // array.itemsize
    change = _swizzled(array, swizzle, elements, spelling)
    more = swizzle.more_elements(elements) * array.itemsize
    return _("{change} ({more})", change=change, more=more_bytes_text(more)) if more else change


def _swizzled(array: ArrayInfo, swizzle: Swizzle, elements: int, spelling: Spelling) -> str:
    """Say how to index: what is mixed into the column is the row, the column itself, or the number of the element."""
    size, apart, planes = 1 << swizzle.bits, 1 << swizzle.shift, len(array.shape) > 2
    pitch = array.strides[-2] // array.itemsize if len(array.shape) > 1 else 0
    if swizzle.row == pitch:
        column, row, rows = "c", f"r >> {swizzle.shift}" if swizzle.shift else "r", array.shape[-2]
    else:
        column, length = ("c", pitch) if pitch and pitch % (swizzle.row * apart * size) == 0 else ("i", elements)
        row, rows = f"{column} {spelling.divide} {swizzle.row * apart}", -(-length // swizzle.row)
    if rows > size * apart or (planes and swizzle.row == pitch):
        row = f"{_bracketed(row) if '>>' in row else row} % {size}"
    if swizzle.base:
        row = f"{_bracketed(row)} << {swizzle.base}"
    before = (["..."] if planes else []) + ["r"] if column == "c" else []
    code = spelling.element(array.name, [*before, f"{column} ^ {_bracketed(row)}"])
    if planes and swizzle.row == pitch and rows % (size * apart):
        return _("swizzle to {code}, r counted through all planes", code=code)
    if pitch and column == "i":
        return _("swizzle to {code}, i counting the elements row by row in one dimension", code=code)
    return _("swizzle to {code}", code=code)


def _bracketed(text: str) -> str:
    return f"({text})" if " " in text else text


def _outcome(before: tuple[Score, ...], after: tuple[Score, ...]) -> str:
    """Say what excess is left over all accesses to the array, and what there was."""
    was, left = (sum(score.excess for score in scores) for scores in (before, after))
    if left:
        return _("{left:,} of {was:,} excess wavefronts remain", left=left, was=was)
    return ngettext(
        "no excess is left at its one access, {was:,} before",
        "no excess is left at its {n} accesses, {was:,} before",
        len(before),
        was=was,
    )
