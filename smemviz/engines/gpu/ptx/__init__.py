"""PTX of CUDA C++ and of Numba kernels, rewritten so that every access also reports itself, and run by the driver."""
