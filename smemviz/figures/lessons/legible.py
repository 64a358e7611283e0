"""Pictures of a lesson as they stand on its page: no text in them is smaller than who learns should have to read."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from smemviz.figures.drawing.style import LEFT, RIGHT
from smemviz.figures.drawing.text import characters

SHEET = 828  # pixels that a picture of a lesson is wide at least, as in assets/learn.css; below that it scrolls
LEAST = 10  # pixels
_LETTER = 0.57  # of a digit, in font sizes


def legible(figure: go.Figure) -> go.Figure:
    """Write in 10 pixels what is smaller and has room for them in its cell, and leave out what has none."""
    drawn = go.Figure(figure)
    across = drawn.layout.xaxis.range
    if not across:
        return drawn
    room = (SHEET - LEFT - RIGHT) / (across[1] - across[0])
    for trace in drawn.data:
        small = trace.type in ("scatter", "heatmap") and 0 < (trace.textfont.size or 0) < LEAST
        if not small or trace.text is None:
            continue
        longest = max((characters(str(text)) for text in np.ravel(trace.text)), default=0)
        if longest * _LETTER * LEAST <= room:
            trace.textfont.size = LEAST
        elif trace.type == "heatmap":
            trace.texttemplate = None
        else:
            trace.text = None
    return drawn
