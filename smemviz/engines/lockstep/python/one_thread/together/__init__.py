"""Loops that several threads run one after the other, and what they did as requests of all of them."""
