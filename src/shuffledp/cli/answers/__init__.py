"""What commands ask, and how they say what they found."""
