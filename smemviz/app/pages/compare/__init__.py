"""The page that compares launches."""
