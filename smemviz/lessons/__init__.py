"""A course of sixteen short lessons on shared memory, whose answers are counted and never written down."""

from smemviz.lessons.course import LESSONS, lesson_of
from smemviz.lessons.lesson import SHOW, Knob, Lesson, Panel, Question, Stage, Text, read_answer, written

__all__ = [
    "LESSONS",
    "SHOW",
    "Knob",
    "Lesson",
    "Panel",
    "Question",
    "Stage",
    "Text",
    "lesson_of",
    "read_answer",
    "written",
]
