"""Where a lane is named in a picture: in its own cell, if every lane of the picture fits its own, and nowhere else.

Where they do not fit, cells are marked and who points at one is told its lanes. Figures, slides and scripts follow it.
"""

from __future__ import annotations

from smemviz.wording.labels import ranges_briefly

# A letter's width in font sizes; the smallest and largest type, and what a frame takes of a cell, in pixels.
RULE = {"letter": 0.62, "least": 9, "most": 13, "edges": 4, "lines": 2}


def lane_label(lanes: str) -> str:
    """Mark lanes as such, ``L3`` or ``L0-7``, "" where there are none."""
    return f"L{ranges_briefly(lanes)}" if lanes else ""


def label_size(letters: float, width: float, height: float, **other: float) -> float:
    """Return the type at which so many letters fit a cell, in pixels, 0 where they do not.

    ``other`` replaces parts of ``RULE``: a slide's type is larger.
    """
    rule = RULE | other
    room = (width - rule["edges"]) / (rule["letter"] * max(letters, 1))
    size = min(room, height - rule["lines"], rule["most"])
    return size if size >= rule["least"] else 0
