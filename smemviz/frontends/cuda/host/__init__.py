"""The host's part of a ``.cu`` file, made into plain C++."""
