"""The types that Numba gives the variables of a function."""
