"""Tests that need a GPU are skipped where there is none."""

from __future__ import annotations

import importlib.util

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    needing = [item for item in items if item.get_closest_marker("gpu")]
    reason = why_no_gpu() if needing else None
    if reason:
        for item in needing:
            item.add_marker(pytest.mark.skip(reason=reason))


def why_no_gpu() -> str | None:
    if importlib.util.find_spec("numba_cuda") is None:
        return "numba-cuda is not installed"
    from smemviz.engines import gpu

    return None if gpu.available() else "no NVIDIA GPU here"
