"""The gpu engine: Numba on the device, kernels rewritten to carry their counters."""
