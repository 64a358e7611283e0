"""Loops that a single thread runs, as plain Python: without one element per thread there is nothing to vectorize."""
