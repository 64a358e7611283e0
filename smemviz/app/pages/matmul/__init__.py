"""The page of matrix products."""
