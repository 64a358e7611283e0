"""The elements of a global array, by how often threads touch them."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from smemviz.figures.drawing.cells import Marked, cell_text, cells, fitting_size, frames, key, with_key
from smemviz.figures.drawing.style import THEMES, Theme, ThemeName, alternative, axis, blend, empty, every, layout
from smemviz.i18n import N_, _, ngettext, pgettext
from smemviz.languages import Spelling
from smemviz.model.counting.global_traffic import ElementCounts, element_counts, elements
from smemviz.model.hardware.operations import Effect, effect_of
from smemviz.model.playback import RequestView
from smemviz.recordings.data import ArrayInfo, Launch
from smemviz.views.grid import Fold, fold_of
from smemviz.wording.labels import count, element_name, sentences

_MOST_TEXTS = 300  # numbers written into cells; more are slow to draw, and the key says them as well
_TIMES_DONE = {"load": N_("times loaded:"), "store": N_("times stored:"), "update": N_("times updated:")}
_STEPS = 6  # shades, where elements are touched in more ways than that
_TOP, _BOTTOM = 30, 44
_KINDS: tuple[Effect, ...] = ("load", "store", "update")  # the first of those that there are is shown


@dataclass(frozen=True)
class ShownArray:
    """The array whose elements are looked at, what is done to them, and by whom: a block, or None for all logged."""

    array: ArrayInfo
    kind: Effect
    block: int | None


def accessed(launch: Launch) -> list[str]:
    """Return the names of the global arrays that requests of a launch go to, in order of the parameters."""
    accessed_names = {launch.sites[i].array for i in launch.sites_in("global")}
    return [array.name for array in launch.global_arrays if array.name in accessed_names]


def shown_array(now: RequestView, array: str | None, *, whole: bool = False) -> ShownArray | None:
    """Choose the array to show, None where there is none: the one named, else the one last gone to.

    What is shown of it is what the present request does, where that goes to it, else loads before stores.
    """
    launch, requests = now.launch, now.launch.requests
    known = {array.name: array for array in launch.global_arrays if array.nbytes}
    usual = [name for name in accessed(launch) if name in known]
    if not usual:
        return None
    sites = [launch.sites[site] for site in dict.fromkeys(requests.site[now.past][::-1].tolist())]
    name = next((name for name in (array, *(site.array for site in sites)) if name in usual), usual[0])
    there = [site for site in launch.sites if site.array == name and site.space == "global"]
    present = [site for site in sites[:1] if site in there]
    kinds = {effect_of(site.op) for site in present or there}
    kind = next(kind for kind in _KINDS if kind in kinds)
    return ShownArray(known[name], kind, None if whole else now.block)


def touched_elements(now: RequestView, shown_array: ShownArray | None, *, theme: ThemeName = "light") -> go.Figure:
    """Draw an array with a shade for how often each element is touched, those of the present request framed.

    Of a large array a cell is a rectangle of elements, with the most that one of them is touched.
    """
    colours = THEMES[theme]
    if shown_array is None:
        return empty(colours, _("This launch touches no array in global memory."))
    counts = element_counts(now.launch, shown_array.array, shown_array.kind, shown_array.block)
    fold = fold_of(shown_array.array)
    times, inside = fold.most(counts), fold.elements_in(counts)
    shades = _shades(counts.times)
    z = np.searchsorted(shades, times, side="right").astype(float)
    z[fold.beyond()] = np.nan
    palette = _palette(colours, len(shades))
    x, y = np.arange(times.shape[1]), np.arange(times.shape[0])
    height = int(np.clip(520 / len(y), 7, 24))
    size = fitting_size(len(str(times.max(initial=0))), len(x), height)
    texts = np.where(times > 0, times.astype(str), "").astype(object)
    written = [cell_text(x, y, texts, size=size, colour=colours.ink)] if size and (z > 0).sum() <= _MOST_TEXTS else []
    heads = {"rows": [row * fold.bin[0] for row in y.tolist()], "columns": [i * fold.bin[1] for i in x.tolist()]}
    here = fold.marked(_present(now, shown_array.array))
    return go.Figure(
        [
            cells(z, palette, hover=_hover(shown_array, fold, times, inside, now.spelling), x=x, y=y, meta=heads),
            *written,
            *_keys(palette, shades, counts, untouched=len(counts.element) < fold.size),
            *with_key(frames(Marked(x, y, here), {"color": colours.frame, "width": 1.5}, _("this request"))),
        ],
        layout(
            colours,
            height=len(y) * height + _TOP + _BOTTOM,
            around=(_TOP, _BOTTOM),
            showlegend=True,
            meta=alternative(described_counts(now, shown_array)),
            xaxis=axis(colours, fold.x_title, range=[-0.5, len(x) - 0.5], **_ticks(len(x), fold.bin[1])),
            yaxis=axis(colours, fold.y_title, range=[len(y) - 0.5, -0.5], **_ticks(len(y), fold.bin[0])),
        ),
    ).update_layout(legend_title={"text": _(_TIMES_DONE[shown_array.kind]), "font": {"color": colours.muted}})


def _done(kind: Effect) -> str:
    return {
        # TRANSLATORS: "loaded", "stored" and "updated" are put into "never {done}", "{done} once" and the like.
        "load": pgettext("elements", "loaded"),
        "store": pgettext("elements", "stored"),
        "update": pgettext("elements", "updated"),
    }[kind]


def _palette(colours: Theme, shades: int) -> list[str]:
    """Return the colour of what is never touched, then one for each shade, the stronger the more often."""
    pale = blend((colours.faint[0], colours.ramp[0]), 4)[1]
    deep = blend((colours.ramp[0], colours.ink), 7)[1]  # its text stays legible
    if shades == 1:
        return [colours.idle, colours.ramp[0]]
    return [colours.idle, *blend((pale, colours.ramp[0], deep), shades)]


def _keys(palette: list[str], shades: NDArray[np.int64], counts: ElementCounts, *, untouched: bool) -> list[go.Scatter]:
    ends = [*(shades[1:] - 1).tolist(), int(counts.times.max(initial=0))]
    keys = [key(palette[i + 1], _range(first, ends[i])) for i, first in enumerate(shades.tolist())]
    return [*keys, key(palette[0], _("never"))] if untouched else keys


def described_counts(now: RequestView, shown_array: ShownArray | None) -> str:
    """Say in a sentence how many elements are touched and how often, by the block and by all blocks."""
    if shown_array is None:
        return ""
    array = shown_array.array
    of_block, of_launch = (element_counts(now.launch, array, shown_array.kind, block) for block in (now.block, None))
    sentence = _(
        "Of the {elements} of {array}, {done} by threads: {one}; {every}.",
        elements=count(int(np.prod(array.shape, dtype=np.int64)), "element"),
        array=array.name,
        done=_done(shown_array.kind),
        one=_often(of_block, _("block {block}", block=now.block)),
        every=_often(of_launch, _("the logged blocks") if now.launch.missing else _("all blocks")),
    )
    return sentences(sentence, _not_stored(now.launch, shown_array))


def _not_stored(launch: Launch, shown_array: ShownArray) -> str:
    """Say how many elements nobody stores, "" where all are stored or not every request was logged."""
    if shown_array.kind != "store" or launch.missing:
        return ""
    changed = (element_counts(launch, shown_array.array, kind).element for kind in ("store", "update"))
    left = int(np.prod(shown_array.array.shape, dtype=np.int64)) - len(np.union1d(*changed))
    singular = "{n:,} element is stored by no thread and keeps what it held."
    return ngettext(singular, "{n:,} elements are stored by no thread and keep what they held.", left) if left else ""


def _often(counts: ElementCounts, who: str) -> str:
    """Say how many elements some blocks touch, and how often each."""
    if not len(counts.times):
        return _("none by {who}", who=who)
    least, most = int(counts.times.min()), int(counts.times.max())
    if most == 1:
        return _("{n:,} by {who}, once each", n=len(counts.element), who=who)
    return _("{n:,} by {who}, {times} times each", n=len(counts.element), who=who, times=_range(least, most))


def _range(least: int, most: int) -> str:
    return f"{least:,}" if least == most else _("{least:,} to {most:,}", least=least, most=most)


def _present(now: RequestView, array: ArrayInfo) -> NDArray[np.int64]:
    if now.row is None:
        return np.zeros(0, np.int64)
    requests = now.launch.requests
    site = now.launch.sites[requests.site[now.row]]
    lanes = requests.addresses[now.row]
    start = lanes[lanes >= 0]
    numbers = elements(array, (start[:, np.newaxis] + np.arange(0, site.width, array.itemsize)).ravel())
    return numbers[numbers >= 0]


def _shades(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the least number of times of each shade: every number that occurs, or steps where those are many."""
    different = np.unique(times)
    if len(different) <= _STEPS:
        return different
    return np.unique(np.ceil(np.linspace(different[0], different[-1] + 1, _STEPS + 1))[:-1].astype(np.int64))


def _hover(
    shown_array: ShownArray, fold: Fold, times: NDArray[np.int64], inside: NDArray[np.int64], spelling: Spelling
) -> NDArray[np.object_]:
    texts = np.full(times.shape, "", dtype=object)
    done = _done(shown_array.kind)
    single = fold.bin == (1, 1)
    for (row, column), most in np.ndenumerate(times):
        first = row * fold.bin[0] * fold.width + column * fold.bin[1]
        if first >= fold.size:
            continue
        name = element_name(shown_array.array, first, spelling)
        if not most:
            counted = _("never {done}", done=done)
        elif single:
            counted = _("{done} {times:,} times", done=done, times=most) if most > 1 else _("{done} once", done=done)
        else:
            counted = _(
                "{n:,} of its elements {done}, at most {times:,} times", n=inside[row, column], done=done, times=most
            )
        where = f"<b>{name}</b>" if single else _("<b>{element}</b> and on", element=name)
        texts[row, column] = f"{where}<br>{counted}"
    return texts


def _ticks(cells_drawn: int, step: int) -> dict[str, object]:
    places = list(range(0, cells_drawn, every(cells_drawn)))
    return {"tickmode": "array", "tickvals": places, "ticktext": [str(place * step) for place in places]}
