"""Which of many cases of a kind every change has to pass; the others are left to a run of everything."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def one_in(step: int, cases: Iterable[Any]) -> list[Any]:
    """Leave all but every so many cases, those that differ least from one another, to a run of everything."""
    return [case if number % step == 0 else _later(case) for number, case in enumerate(cases)]


def but(slow: Collection[Any], cases: Iterable[Any]) -> list[Any]:
    """Leave the slow ones to a run of everything."""
    return [_later(case) if case in slow else case for case in cases]


def _later(case: Any) -> Any:
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, id=case.id, marks=(*case.marks, pytest.mark.exhaustive))
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.exhaustive)
