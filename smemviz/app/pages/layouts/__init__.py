"""The page of layouts."""
