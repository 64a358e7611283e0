"""PTX, whatever compiler it comes from: a ``.ptx`` file as data, and the source that its ``.loc`` lines name."""
