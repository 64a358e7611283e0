"""Loops as text, for ``simulated_loops.py``."""
