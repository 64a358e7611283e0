"""PTX as it is written: parsed, flattened, in basic blocks."""
