"""A ``.cu`` file's own ``main()``: its host code runs natively in a child, its device is lockstep's, or a GPU."""
