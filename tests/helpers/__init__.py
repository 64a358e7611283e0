"""What tests of several subjects share."""
