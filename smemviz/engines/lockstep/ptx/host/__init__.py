"""Launches of CUDA C++ kernels: arguments, memory, the run of a file."""
