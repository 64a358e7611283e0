"""What the search for a layout found, as rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from smemviz.i18n import N_, _, pgettext
from smemviz.model.hardware.compute_capability import blocks_per_multiprocessor
from smemviz.model.layout.array_requests import array_requests
from smemviz.model.layout.code import NAMES, code, index_code
from smemviz.model.layout.layouts import Layout
from smemviz.model.layout.search import LayoutFix, beats, search, suggest
from smemviz.model.layout.swizzles import Xor
from smemviz.recordings.data import WARP_SIZE
from smemviz.views.layout_lab import SetUp
from smemviz.wording.labels import clauses

_MOST_ROWS = 10


@dataclass(frozen=True)
class LayoutRow:
    """One layout: what it costs, its name, the cells of its row, its code to copy, and whether it is there now."""

    fix: LayoutFix[Layout]
    name: str
    cells: tuple[str, ...]
    code: str
    present: bool


def layout_heads(setup: SetUp) -> tuple[str, ...]:
    """Return what stands above the cells; accesses go by their numbers."""
    several = range(1, len(setup.accesses) + 1) if len(setup.accesses) > 1 else ()
    per_access = tuple(_("access {number}", number=number) for number in several)
    return (
        *per_access,
        _("wavefronts"),
        _("excess"),
        _("bytes"),
        _("blocks per multiprocessor"),
        _("more instructions"),
    )


def layout_rows(setup: SetUp) -> tuple[LayoutRow, ...]:
    """Search layouts for all accesses of a set-up: the one there is, then the others, the cheapest first.

    Of one kind (pads, XOR, ``Swizzle``) only those are told that no other beats in wavefronts, bytes and
    instructions, and that beat the plain array.

    Raises:
        InputError: when the array cannot be accessed so, or the part cannot do it.
    """
    layout, hardware = setup.layout, setup.hardware
    wanted = [array_requests(access, layout) for access in setup.accesses]
    best: list[LayoutFix[Layout]] = []
    for fix in search(layout, wanted, hardware):
        # The search gives the simpler of two alike first.
        if not any(_kind(fix) == _kind(other) and beats(other.price, fix.price) for other in best):
            best.append(fix)
    now = suggest(layout, wanted, hardware)
    plain = next(fix for fix in best if fix.layout == layout.plain)
    others = [fix for fix in best if fix.layout != layout and (fix is plain or fix.wavefronts < plain.wavefronts)]
    return tuple(_row(setup, fix) for fix in (now, *others[:_MOST_ROWS]))


def _kind(fix: LayoutFix[Layout]) -> tuple[type, bool]:
    return type(fix.layout.swizzle), bool(fix.layout.pad)


def layout_text(layout: Layout) -> str:
    """Name what a layout does to the plain array: ``pad 1``, ``xor 5 0 0 (column ^ row)``."""
    done = [_("pad {pad}", pad=layout.pad)] if layout.pad else []
    if isinstance(layout.swizzle, Xor):
        column = index_code(layout, NAMES[len(layout.shape)]).rpartition(", ")[2]
        done.append(f"{layout.swizzle.text} ({column})")
    elif layout.swizzle:
        done.append(layout.swizzle.text)
    return clauses(*done) if done else pgettext("layout", "plain")


def layouts_text(rows: Sequence[LayoutRow]) -> str:
    """Say what the cheapest layout saves."""
    now, best = rows[0].fix, min((row.fix for row in rows), key=lambda fix: fix.price)
    if best.wavefronts == now.wavefronts:
        return _("No pad and no swizzle takes fewer wavefronts than the current layout.")
    more = best.layout.nbytes - now.layout.nbytes
    if more > 0:
        message = N_("The cheapest, {name}, takes {best:,} wavefronts instead of {now:,}, in {bytes:,} bytes more.")
    elif more < 0:
        message = N_("The cheapest, {name}, takes {best:,} wavefronts instead of {now:,}, in {bytes:,} bytes less.")
    else:
        message = N_("The cheapest, {name}, takes {best:,} wavefronts instead of {now:,}, in as many bytes.")
    return _(message, name=layout_text(best.layout), best=best.wavefronts, now=now.wavefronts, bytes=abs(more))


def _row(setup: SetUp, fix: LayoutFix[Layout]) -> LayoutRow:
    threads = WARP_SIZE * max(access.warps for access in setup.accesses)
    per_access = [f"{score.wavefronts:,}" for score in fix.after] if len(fix.after) > 1 else []
    blocks = blocks_per_multiprocessor(fix.layout.nbytes, setup.hardware.cc, threads)
    cells = (
        *per_access,
        f"{fix.wavefronts:,}",
        f"{fix.excess:,}",
        f"{fix.layout.nbytes:,}",
        str(blocks),
        str(fix.operations),
    )
    written = code(fix.layout)
    lines = "\n".join((written.declaration, written.store, written.load))
    return LayoutRow(fix, layout_text(fix.layout), cells, lines, fix.layout == setup.layout)
