"""Matrix products over many sizes, timed."""
