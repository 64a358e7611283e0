"""The engines: what turns a kernel file and its constants into a recording."""

from smemviz.engines.api import cuda_cpp, record, run
from smemviz.engines.backend import Engine

__all__ = ["Engine", "cuda_cpp", "record", "run"]
