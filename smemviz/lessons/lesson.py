"""What a lesson is: a few sentences, knobs, a question that is answered before the picture is shown, and pictures.

Nothing here knows an answer: a lesson's ``stage`` computes it from a recording or from the model, for the knobs as they
stand. Messages are marked where they are written and looked up where they are shown.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import plotly.graph_objects as go

from smemviz.errors import InputError
from smemviz.figures.drawing.style import ThemeName
from smemviz.i18n import _
from smemviz.model.hardware.hardware import WARP
from smemviz.wording.labels import items, lane_ranges, names

Kind = Literal["number", "choice", "lanes"]
Values = Mapping[str, str]

SHOW = "show"  # instead of an answer: give up and show the picture
NO_LANES = "none"
_MOST_DIGITS = 15


@dataclass(frozen=True)
class Text:
    """A message that is looked up where it is shown, and the code that stands in it by name."""

    message: str
    code: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Knob:
    """What may be changed: a constant or a property by its name in the URL, and the values it may have.

    ``label`` is a message, "" where the name is that of a constant in the source; ``names`` are messages for values.
    """

    name: str
    options: tuple[str, ...]
    default: str
    label: str = ""
    names: Mapping[str, str] = field(default_factory=dict)

    def written(self, value: str) -> str:
        """Write a value for readers, in the spoken language."""
        return _(self.names[value]) if value in self.names else value


@dataclass(frozen=True)
class Option:
    """One answer to choose; ``text`` is code."""

    value: str
    text: str


@dataclass(frozen=True)
class Question:
    """What is asked, in the language that is spoken; ``options`` are those of a choice."""

    kind: Kind
    text: str
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class Panel:
    """A picture with its title; ``sentence`` tells in a sentence what it shows."""

    title: str
    figure: go.Figure
    sentence: str
    narrow: bool = False


@dataclass(frozen=True)
class Stage:
    """A lesson for the knobs as they stand.

    ``right`` are the answers that are right, as ``read_answer`` writes them; ``hint`` says what is wrong with another
    one, ``because`` why the right one is right, ``origin`` where the numbers come from. ``before`` draws what is asked
    about and nothing of the answer, ``panels`` the answer.
    """

    question: Question
    right: frozenset[str]
    hint: Callable[[str], str]
    because: str
    origin: str
    panels: Callable[[ThemeName], tuple[Panel, ...]]
    before: Callable[[ThemeName], Panel]

    @property
    def answer(self) -> str:
        """What is right, for readers."""
        return names(*sorted(written(self.question, answer) for answer in self.right))


@dataclass(frozen=True)
class Lesson:
    """One of the lessons.

    ``goal`` says in a sentence what one can do after it, ``minutes`` how long it takes. ``scenes`` are the knobs that a
    presenter steps through, the first one being the question's. ``wrong`` are answers to that question that a class
    gives, and ``kernel`` is the query of the kernel page where one can go on. ``builds_on`` are the slugs of lessons
    that should come first.
    """

    slug: str
    title: str
    goal: str
    minutes: int
    text: tuple[Text, ...]
    knobs: tuple[Knob, ...]
    stage: Callable[[Values], Stage]
    scenes: tuple[Values, ...]
    wrong: tuple[str, ...]
    kernel: str
    builds_on: tuple[str, ...] = ()

    def set_to(self, values: Values) -> str:
        """Write the knobs as they stand, in the spoken language."""
        set_to = ((_(knob.label) if knob.label else knob.name, knob.written(values[knob.name])) for knob in self.knobs)
        return items(*(_("{name}: {value}", name=name, value=value) for name, value in set_to))

    def turned(self, knobs: Mapping[str, str]) -> dict[str, str]:
        """Return the value of every knob when some are turned.

        Raises:
            InputError: when there is no such knob, or it does not have the value.
        """
        offered = {knob.name: knob.options for knob in self.knobs}
        for name, value in knobs.items():
            if name not in offered:
                raise InputError(f"the lesson {self.slug} has no knob {name}; it has {', '.join(offered)}")
            if value not in offered[name]:
                raise InputError(f"{name} of the lesson {self.slug} is one of {', '.join(offered[name])}, not {value}")
        return self.values(knobs)

    def values(self, query: Mapping[str, str]) -> dict[str, str]:
        """Return the value of every knob; what is not offered gives way to the default."""
        chosen = {knob.name: query.get(knob.name, knob.default) for knob in self.knobs}
        return {k.name: chosen[k.name] if chosen[k.name] in k.options else k.default for k in self.knobs}


def read_answer(question: Question, text: str) -> str:
    """Return an answer as it is compared: a number, the value of an option, or lanes as ``0-7, 12``.

    Raises:
        InputError: when it is none; says in the spoken language what an answer looks like.
    """
    answer = text.strip()
    if question.kind == "number":
        digits = answer.replace(",", "")
        if not re.fullmatch(rf"-?\d{{1,{_MOST_DIGITS}}}", digits):
            raise InputError(_("Write a whole number."))
        return str(int(digits))
    if question.kind == "choice":
        if answer not in {option.value for option in question.options}:
            raise InputError(_("Choose one."))
        return answer
    return _read_lanes(answer)


def written(question: Question, answer: str) -> str:
    """Write an answer for readers."""
    if question.kind == "choice":
        return next(option.text for option in question.options if option.value == answer)
    if question.kind == "lanes":
        return _("none") if answer == NO_LANES else answer
    return f"{int(answer):,}"


def lanes_answer(lanes: list[int]) -> str:
    """Write lanes as an answer."""
    return lane_ranges(lanes) or NO_LANES


def lanes_of(answer: str) -> list[int]:
    """Return the lanes of an answer."""
    if answer == NO_LANES:
        return []
    ends = [part.split("-") for part in answer.split(", ")]
    return [lane for end in ends for lane in range(int(end[0]), int(end[-1]) + 1)]


def _read_lanes(text: str) -> str:
    if text in ("", NO_LANES):
        return NO_LANES
    lanes: set[int] = set()
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d{1,2})(?:\s*-\s*(\d{1,2}))?\s*", part)
        last = int(ends[2] or ends[1]) if ends else WARP
        if ends is None or last >= WARP:
            raise InputError(_("Name lanes from 0 to 31, such as 4, 8-11."))
        lanes.update(range(int(ends[1]), last + 1))
    return lanes_answer(sorted(lanes))
