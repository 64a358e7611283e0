"""The dashboard. It imports nothing, so that the command line may use the part that serves it."""
