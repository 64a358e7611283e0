"""The text of a ``.cu`` file: its tokens, its declarations and its functions."""
