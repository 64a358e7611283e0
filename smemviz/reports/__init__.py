"""Everything that leaves smemviz as a file of its own: figures, data, traces, and recordings that play offline."""
