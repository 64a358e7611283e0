"""What Nsight Compute counts, and how it differs from the source."""
