"""What hides clear values: fabricated messages, and noise in counts."""
