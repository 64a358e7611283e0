"""Every number that is shown, explained."""
