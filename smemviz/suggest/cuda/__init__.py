"""A pad or a swizzle written into CUDA C++."""
