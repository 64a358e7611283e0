"""Pictures of the course."""
