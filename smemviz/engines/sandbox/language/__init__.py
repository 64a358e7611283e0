"""The part of Python that texts from strangers may use on the host."""
