"""Reports as one HTML file."""
