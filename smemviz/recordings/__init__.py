"""What one run captured: frozen data and its file."""
