"""Keeping what was counted of a launch, which is frozen, for as long as it lives."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import update_wrapper
from typing import Concatenate, ParamSpec, TypeVar

from smemviz.recordings.data import Launch

_P = ParamSpec("_P")
_R = TypeVar("_R")


def cached(count: Callable[Concatenate[Launch, _P], _R]) -> Callable[Concatenate[Launch, _P], _R]:
    """Keep the results of a pure function of a launch and of arguments that can be hashed.

    A launch holds arrays and cannot be hashed; it is known by its identity, and forgotten with it.
    """
    results: dict[int, dict[object, _R]] = {}

    def counted(launch: Launch, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        known = results.get(id(launch))
        if known is None:
            known = results[id(launch)] = {}
            weakref.finalize(launch, results.pop, id(launch), None)
        key = (args, tuple(kwargs.items()))
        if key not in known:
            known[key] = count(launch, *args, **kwargs)
        return known[key]

    update_wrapper(counted, count)
    return counted
