"""The lockstep engine: kernels on NumPy arrays, one element per thread, without a GPU."""

from smemviz.engines.limits import Limits
from smemviz.engines.lockstep.host.python_in_lockstep import run
from smemviz.engines.lockstep.python.interpreter import launch

__all__ = ["Limits", "launch", "run"]
