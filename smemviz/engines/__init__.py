"""The engines: what turns a kernel file and its constants into a recording."""

from smemviz.engines.choose import Engine, record, run

__all__ = ["Engine", "record", "run"]
