"""The functions that a kernel may call."""
