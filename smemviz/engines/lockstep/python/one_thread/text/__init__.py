"""A loop of a kernel as the text of a Python function."""
