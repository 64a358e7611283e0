"""The answer of a lesson for values of its parameters."""

from itertools import product

from smemviz.lessons.lesson import Lesson


def combinations(lesson: Lesson) -> list[dict[str, str]]:
    names = [knob.name for knob in lesson.knobs]
    return [dict(zip(names, values, strict=True)) for values in product(*(knob.options for knob in lesson.knobs))]
