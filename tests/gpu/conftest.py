"""Tests that need a GPU: skipped, and saying so, where there is none."""

import pytest


def pytest_collection_modifyitems(items):
    here = [item for item in items if "gpu" in item.keywords]
    if not here or _has_gpu():
        return
    for item in here:
        item.add_marker(pytest.mark.skip(reason="no GPU here that Numba can use"))


def _has_gpu():
    try:
        from numba import cuda
    except ImportError:
        return False
    return bool(cuda.is_available())
