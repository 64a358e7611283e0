"""What people write, turned into something that an engine can run."""
