"""Lessons as tests ask them: for every setting of their knobs, each worked out once, in English."""

from functools import cache
from itertools import product

from smemviz.lessons.course import lesson_of
from smemviz.lessons.lesson import Lesson, Stage


def combinations(lesson: Lesson) -> list[dict[str, str]]:
    names = [knob.name for knob in lesson.knobs]
    return [dict(zip(names, values, strict=True)) for values in product(*(knob.options for knob in lesson.knobs))]


def stage_of(slug: str, **knobs: str) -> Stage:
    """Return the stage of a lesson for values of its knobs, else their defaults."""
    return _stage(slug, tuple(lesson_of(slug).turned(knobs).items()))


@cache
def _stage(slug: str, values: tuple[tuple[str, str], ...]) -> Stage:
    return lesson_of(slug).stage(dict(values))
