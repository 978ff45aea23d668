"""What the sum of all reports reveals by itself: noise, or counts of independent bits."""
