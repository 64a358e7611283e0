"""The lockstep engine: kernels on NumPy arrays, one element per thread, without a GPU."""

from smemviz.engines.lockstep.launch import launch
from smemviz.engines.lockstep.machine import Limits
from smemviz.engines.lockstep.run import run

__all__ = ["Limits", "launch", "run"]
