"""The gpu engine: Numba on the device, kernels instrumented to count their requests."""
