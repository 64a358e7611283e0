"""Measuring on the GPU in this machine: time, hardware counters, and what the model assumes."""
