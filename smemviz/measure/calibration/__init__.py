"""What this GPU does, held against the model."""
