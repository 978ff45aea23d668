"""shuffledp."""
