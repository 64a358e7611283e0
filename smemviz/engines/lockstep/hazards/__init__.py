"""Mistakes that a run shows: races, unwritten reads, barriers, out of bounds."""
