"""Kernels of Triton: each launch handed to an engine as PTX, with the grid and the arguments that Triton gives it."""
