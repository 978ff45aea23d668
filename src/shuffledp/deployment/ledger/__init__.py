"""What was collected, and what is left of a budget."""
