"""Layouts of an array, as plain data: one drawn, two compared in the lab, the ones that a search found."""
