"""What each instruction of PTX does."""
