"""Values of a kernel: one element per thread, and the types they have."""
