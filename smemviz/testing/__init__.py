"""Limits on what kernels do to shared and global memory, for tests; what exceeds one is shown by a witness.

It imports nothing: the plugin in here is loaded in every pytest run.
"""
