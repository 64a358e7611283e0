"""Device functions of numba-cuda's library, written out, so that both engines can follow what they load and store."""
