"""Contrast as WCAG 2.2 AA wants it (1.4.3: 4.5 for text, 1.4.11: 3 for marks), and colours that the colour-blind tell
apart, in both themes. Banks are a ramp: neighbours need not differ, and every cell says its bank in words."""

import re
from itertools import pairwise

import numpy as np
import pytest

from smemviz.figures.drawing.style import THEMES, blend
from smemviz.paths import assets_dir

# Machado, Oliveira and Fernandes, A Physiologically-based Model for Simulation of Color Vision Deficiency, 2009:
# severity 1.0, on linear RGB.
SEEN = {
    "all colours": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# sRGB to CIE XYZ, each row over the white of D65 (IEC 61966-2-1).
XYZ = np.array(
    [[0.4339530, 0.3762200, 0.1898270], [0.2126729, 0.7151522, 0.0721750], [0.0177580, 0.1094770, 0.8727650]]
)
NOTICED = 2.3  # the just noticeable difference in CIE76 (Mahy, Van Eycken and Oosterlinck, 1994)

both = pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES.keys())


def linear(colour):
    """Return the linear RGB of ``#rrggbb`` (IEC 61966-2-1)."""
    share = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """Return the contrast of two colours (WCAG 2.2, relative luminance)."""
    dark, light = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def lab(colour, seen="all colours"):
    share = XYZ @ np.clip(SEEN[seen] @ linear(colour), 0, 1)
    f = np.where(share > (6 / 29) ** 3, np.cbrt(share), share / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def difference(one, other, seen):
    return float(np.linalg.norm(lab(one, seen) - lab(other, seen)))


def degrees(theme):
    return blend(theme.degree, 6)


def test_the_measures_are_those_of_their_sources():
    assert contrast("#000000", "#ffffff") == 21
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # known as just too little
    assert lab("#ffffff") == pytest.approx([100, 0, 0], abs=0.01)
    assert lab("#ff0000") == pytest.approx([53.24, 80.09, 67.20], abs=0.05)


@both
def test_text_can_be_read_on_every_cell(theme):
    banks = [*blend(theme.ramp, 32), *blend(theme.faint, 32)]
    written = [(text, cell) for text in (theme.ink, theme.value) for cell in (*banks, theme.idle)]
    written += [(theme.ink, cell) for cell in degrees(theme)[:4]] + [(theme.paper, cell) for cell in degrees(theme)[4:]]
    written += [(text, theme.paper) for text in (theme.ink, theme.value, theme.muted, theme.conflict)]
    written += [(theme.ink, blend((theme.ramp[0], theme.ink), 7)[1])]  # elements touched most often
    assert [pair for pair in written if contrast(*pair) < 4.5] == []


@both
def test_marks_stand_out_from_what_they_lie_on(theme):
    banks = [*blend(theme.ramp, 32), *blend(theme.faint, 32)]
    marks = [(mark, cell) for mark in (theme.frame, theme.conflict) for cell in banks]
    marks += [(line, theme.paper) for line in (theme.line, theme.muted, theme.conflict, theme.ink)]
    assert [pair for pair in marks if contrast(*pair) < 3] == []


@both
@pytest.mark.parametrize("seen", SEEN)
def test_what_has_another_meaning_has_another_colour(theme, seen):
    banks = blend(theme.ramp, 32)
    faint = blend(theme.faint, 32)
    held = blend((theme.ramp[0], theme.paper), 5)[2]
    apart = [
        *((theme.conflict, other) for other in (theme.frame, theme.unused, *banks, *faint)),
        *((theme.unused, cell) for cell in (*banks, *faint)),
        *zip(banks, faint, strict=True),  # an element that holds something, and one that does not
        (theme.ramp[0], theme.ramp[-1]),  # the first and the last bank
        (theme.ramp[0], theme.unused),  # net and floor
        (theme.ramp[0], theme.ramp[3]),  # elements and sectors
        *((theme.idle, state) for state in (held, theme.ramp[4], theme.ramp[0])),
        *pairwise(degrees(theme)),
    ]
    least = 3 * NOTICED
    assert [pair for pair in apart if difference(*pair, seen) < least] == []


@both
def test_banks_grow_lighter_from_first_to_last(theme):
    lightness = [lab(colour)[0] for colour in blend(theme.ramp, 32)]
    assert all(after >= before for before, after in pairwise(lightness))


@pytest.mark.parametrize("theme", THEMES)
def test_the_sheet_of_styles_has_the_same_colours_and_enough_contrast(theme):
    sheet = (assets_dir() / "smemviz.css").read_text("utf-8")
    start = sheet.index(":root {" if theme == "light" else '[data-mantine-color-scheme="dark"] {')
    variables = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", sheet[start : sheet.index("}", start)]))
    colours = THEMES[theme]  # type: ignore[index]
    assert {name: variables[name] for name in ("paper", "ink", "muted", "conflict")} == {
        "paper": colours.paper,
        "ink": colours.ink,
        "muted": colours.muted,
        "conflict": colours.conflict,
    }
    on = [variables[name] for name in ("page", "paper", "accent-soft")]
    text = [variables[name] for name in ("ink", "muted", "accent", "conflict")]
    assert [(a, b) for a in text for b in on if contrast(a, b) < 4.5] == []
    code = [variables[name] for name in variables if name.startswith("tok-")]
    assert [(a, variables["paper"]) for a in code if contrast(a, variables["paper"]) < 4.5] == []
    # What can be operated, and what has the focus.
    assert [(a, b) for a in (variables["edge"], variables["accent"]) for b in on if contrast(a, b) < 3] == []
