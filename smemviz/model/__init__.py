"""What hardware makes of addresses: wavefronts, degrees, sectors, on every compute capability."""
