"""Pictures of matrix products."""
