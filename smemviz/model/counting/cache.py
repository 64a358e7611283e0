"""Keeping what was counted of a launch, which is frozen, for as long as it lives."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from smemviz.recordings.data import Launch

_P = ParamSpec("_P")
_R = TypeVar("_R")


def cached(count: Callable[Concatenate[Launch, _P], _R]) -> Callable[Concatenate[Launch, _P], _R]:
    """Keep the results of a pure function of a launch and of arguments that can be hashed."""
    results: WeakKeyDictionary[Launch, dict[Hashable, _R]] = WeakKeyDictionary()

    @wraps(count)
    def counted(launch: Launch, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        known = results.setdefault(launch, {})
        key = (args, tuple(kwargs.items()))
        if key not in known:
            known[key] = count(launch, *args, **kwargs)
        return known[key]

    return counted
