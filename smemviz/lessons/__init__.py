"""A course of nineteen short lessons on shared memory, whose answers are counted and never written down."""
