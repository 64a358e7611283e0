"""Long launches of kernels in Python: compiled by Numba to PTX, which the machine for PTX runs as machine code."""
