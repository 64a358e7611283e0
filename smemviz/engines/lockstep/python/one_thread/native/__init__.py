"""The text of a loop as machine code, for loops that take long."""
