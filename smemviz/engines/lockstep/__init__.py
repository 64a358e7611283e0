"""The lockstep engine: kernels on NumPy arrays, one element per thread, without a GPU."""

from smemviz.engines.lockstep.host.python_in_lockstep import run
from smemviz.engines.lockstep.host.python_launch import launch
from smemviz.engines.options import Limits

__all__ = ["Limits", "launch", "run"]
