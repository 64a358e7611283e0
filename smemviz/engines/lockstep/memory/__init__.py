"""The memory that kernels see: arrays, shared memory, arguments."""
