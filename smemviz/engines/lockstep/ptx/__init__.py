"""The interpreter of PTX, the assembly that CUDA C++ is compiled to."""
