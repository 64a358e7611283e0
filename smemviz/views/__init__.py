"""The rows and cells of every table and picture, as plain data."""
