"""The pages: layout, view and callbacks of a page together."""
