"""The gpu engine: Numba on the device, kernels rewritten to carry their counters."""

from smemviz.engines.gpu.host import available, device, record, run

__all__ = ["available", "device", "record", "run"]
