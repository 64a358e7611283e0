"""What was measured of a kernel: its times, its counters, and what others published."""
