"""Limits on what kernels do to shared and global memory, for tests; what exceeds one is shown by a witness."""

from smemviz.testing.fixture import Smem
from smemviz.testing.limits import Limit, Selection, exceeded
from smemviz.testing.witness import Witness

__all__ = ["Limit", "Selection", "Smem", "Witness", "exceeded"]
