"""Kernels in Triton, as their PTX names them: from a place in it back to the expression."""
