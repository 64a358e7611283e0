"""The PTX machine as machine code: for launches that NumPy would take long for."""
