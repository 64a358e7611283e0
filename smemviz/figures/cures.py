"""Cures in words: what to change, and what that leaves."""

from __future__ import annotations

from smemviz.figures.labels import count
from smemviz.model.cure import Cure, Pad, Score, Swizzle
from smemviz.recording import ArrayInfo


def cure_said(array: ArrayInfo, pad: Cure[Pad] | None, swizzle: Cure[Swizzle] | None) -> str | None:
    """Say what to change and what excess that leaves at all accesses to the array, None without either."""
    changes = [pad_said(array, pad.layout, pad.more_bytes)] if pad else []
    changes += [swizzle_said(array, swizzle.layout)] if swizzle else []
    outcomes = [_outcome(cure.before, cure.after) for cure in (pad, swizzle) if cure]
    if not changes:
        return None
    if len(set(outcomes)) == 1:
        return _sentence(f"{', or '.join(changes)}: {outcomes[0]}")
    return _sentence("; or ".join(f"{change}: {left}" for change, left in zip(changes, outcomes, strict=True)))


def pad_said(array: ArrayInfo, pad: Pad, more_bytes: int) -> str:
    """Say what to pad: ``pad the row of tile by 1, (32, 32) -> (32, 33) (128 bytes more)``."""
    more = f"{count(more_bytes, 'byte')} more"
    if len(array.shape) < 2:
        times = f" * {pad.pad}" if pad.pad > 1 else ""
        spare = f"leave {count(pad.pad, 'element')} of {array.name} unused after every {pad.row}"
        return f"{spare}, index i + i // {pad.row}{times} ({more})"
    shape = (*array.shape[:-1], array.shape[-1] + pad.pad)
    return f"pad the row of {array.name} by {pad.pad}, {_tuple(array.shape)} -> {_tuple(shape)} ({more})"


def swizzle_said(array: ArrayInfo, swizzle: Swizzle) -> str:
    """Say how to index instead: ``swizzle to tile[r, c ^ r]``."""
    size, apart = 1 << swizzle.bits, 1 << swizzle.shift
    flat = len(array.shape) < 2
    rows = -(-array.shape[0] // swizzle.row) if flat else array.shape[-2]
    row = f"i // {swizzle.row * apart}" if flat else f"r >> {swizzle.shift}" if swizzle.shift else "r"
    if len(array.shape) > 2 or rows > size * apart:
        row = f"{row if flat else _bracketed(row)} % {size}"
    if swizzle.base:
        row = f"{_bracketed(row)} << {swizzle.base}"
    index = {0: "i", 1: "i", 2: "r, c"}.get(len(array.shape), "..., r, c")
    planes = ", r counted through all planes" if len(array.shape) > 2 and rows % (size * apart) else ""
    return f"swizzle to {array.name}[{index} ^ {_bracketed(row)}]{planes}"


def _bracketed(text: str) -> str:
    return f"({text})" if " " in text else text


def _outcome(before: tuple[Score, ...], after: tuple[Score, ...]) -> str:
    """Say what excess is left over all accesses to the array, and what there was."""
    was, left = (sum(score.excess for score in scores) for scores in (before, after))
    if left:
        return f"{left:,} of {count(was, 'wavefront')} in excess are left"
    where = "its one access" if len(before) == 1 else f"its {len(before)} accesses"
    return f"no excess is left at {where}, {was:,} before"


def _tuple(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."
