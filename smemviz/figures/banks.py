"""Banks by wavefront: who is served in which pass through the banks, and with which word."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from smemviz.figures.drawing.cells import LANES, PLOT_WIDTH, cell_text, cells, fitting_size
from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, alternative, axis, blend, empty, layout
from smemviz.i18n import _
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.playback import BankService, RequestView, bank_layout, bank_service
from smemviz.views.grid import fitting_names, lane_label
from smemviz.wording.labels import lane_ranges, lanes_named
from smemviz.wording.sentences import present

_MOST_WAVEFRONTS = 64
_TOP, _BOTTOM = 12, 44


def banks(
    now: RequestView, *, banks: int | None = None, hardware: Hardware = H200, theme: ThemeName = "light"
) -> go.Figure:
    """Draw the present request: a bin per bank, a row per wavefront from below, a lane (``L5``) and word in a cell."""
    colours = THEMES[theme]
    where = bank_layout(now.launch, hardware, banks)
    service = bank_service(now, where, hardware)
    if now.row is None:
        return empty(colours, _("No request of this block was logged."))
    if not len(service.lane):
        return empty(colours, _("This request goes to global memory: no bank of shared memory is involved."))
    if service.reason is not None:
        return empty(colours, service.reason)
    return draw_banks(service, where.banks, colours, says=present(now, hardware))


def draw_banks(service: BankService, banks: int, colours: Theme, *, says: str) -> go.Figure:
    """Draw a request that was served by so many banks, and ``says`` so."""
    rows = min(service.wavefronts, _MOST_WAVEFRONTS)
    lanes, words, hover = _texts(service, rows, banks)
    busy = lanes != ""
    crowded = np.broadcast_to(busy.sum(axis=0) > 1, busy.shape)
    z = np.where(busy, np.arange(banks), banks).astype(float)
    palette = [*blend(colours.ramp, banks), colours.idle]
    x, y = np.arange(banks), np.arange(1, rows + 1)
    row_height = 64 if rows == 1 else 40 if rows <= 4 else 30 if rows <= 8 else 24
    lines = np.stack([y + 0.2, y - 0.22], axis=1).ravel()  # lanes above, words below
    texts = []
    badges, lanes_fit = fitting_names(
        np.vectorize(lane_label, otypes=[object])(lanes), PLOT_WIDTH / banks, row_height / 2
    )
    words_fit = fitting_size(max(map(len, words.ravel().tolist())), banks, row_height / 2)
    for text, line, chosen, colour, weight in (
        (badges, 0, busy & ~crowded, colours.ink, 600),
        (badges, 0, busy & crowded, colours.ink, 900),
        (words, 1, busy, colours.value, 400),
    ):
        size = words_fit if line else lanes_fit
        if not size:  # they can be read off the cells by pointing at them
            continue
        here, kind = np.where(chosen, text, ""), None if line else LANES
        texts.append(cell_text(x, lines[line::2], here, size=size, colour=colour, weight=weight, meta=kind))
    title = _("wavefront")
    if rows < service.wavefronts:
        title = _("wavefront (first {shown} of {wavefronts})", shown=rows, wavefronts=service.wavefronts)
    every = 4 if banks > 8 else 1
    return go.Figure(
        [cells(z, palette, hover=hover, x=x, y=y, ygap=2), *texts],
        layout(
            colours,
            height=rows * row_height + _TOP + _BOTTOM,
            around=(_TOP, _BOTTOM),
            meta=alternative(says),
            xaxis=axis(colours, _("bank"), range=[-0.5, banks - 0.5], tickvals=x[::every]),
            yaxis=axis(colours, title, range=[0.5, rows + 0.5], ticklabelstandoff=4, tickvals=_ticks(rows)),
        ),
    )


def _ticks(rows: int) -> list[int]:
    if rows <= 8:
        return list(range(1, rows + 1))
    return [1, *range(4, rows - 1, 4), rows]


def _texts(
    service: BankService, rows: int, banks: int
) -> tuple[NDArray[np.object_], NDArray[np.object_], NDArray[np.object_]]:
    """Write lanes, words and hover text of every cell; empty texts where a bank has nothing to do."""
    shape = (rows, banks)
    lanes, words = np.full(shape, "", dtype=object), np.full(shape, "", dtype=object)
    place, idle = _("bank {bank}, wavefront {wavefront}"), _("idle")
    hover = np.array(
        [[f"<b>{place.format(bank=b, wavefront=w)}</b><br>{idle}" for b in range(banks)] for w in range(1, rows + 1)],
        dtype=object,
    )
    for w, b, who, of in service.cells():
        if w >= rows:
            break
        word = lane_ranges(of)
        lanes[w, b] = lane_ranges(who)
        words[w, b] = word
        where = place.format(bank=b, wavefront=w + 1)
        hover[w, b] = f"<b>{where}</b><br>{lanes_named(who)}<br>{_('word {words}', words=word)}"
    return lanes, words, hover
