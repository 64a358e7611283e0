"""The version, in one place: the package's metadata is built from it, recordings carry it."""

__version__ = "0.1.0"
