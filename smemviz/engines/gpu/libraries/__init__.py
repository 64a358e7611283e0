"""Libraries of Python that launch CUDA C++, each of whose launches is recorded."""
