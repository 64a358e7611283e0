"""The lessons, as pages."""
