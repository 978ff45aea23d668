"""The engine: proved means of sums of independent summands, in ball arithmetic."""
