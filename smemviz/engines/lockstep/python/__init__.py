"""The interpreter of kernels written in Python."""
