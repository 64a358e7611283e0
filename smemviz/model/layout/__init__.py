"""Layouts of shared arrays: pads, swizzles, formulas, and the search for the cheapest."""
