"""Counting requests: wavefronts, sectors, summaries, totals, differences."""
