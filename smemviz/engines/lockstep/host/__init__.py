"""What stands in for numba.cuda on the host."""
