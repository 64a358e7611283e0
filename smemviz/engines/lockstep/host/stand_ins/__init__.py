"""What scripts import to launch CUDA C++, where there is no GPU: CuPy and cuda.core, the part that they need."""
