"""Times that are stored in a recording."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from helpers.measured import timing
from helpers.strategies import a_launch

from smemviz.cli.verbs.time import with_times


def test_a_launch_has_its_own_time_where_kernels_run_that_are_not_recorded() -> None:
    launches = [replace(a_launch(), kernel=name) for name in ("store", "load", "store")]
    timed: Any = SimpleNamespace(
        kernels=("store", "made", "load", "made", "store"), times=tuple(timing(n) for n in (1, 2, 3, 4, 5))
    )
    assert [one.time.median_us for one in with_times(launches, timed) if one.time] == [1, 3, 5]
