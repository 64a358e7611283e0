"""What hardware does: compute capabilities, operations, rules, occupancy, costs."""
