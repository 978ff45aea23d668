"""The largest safe level, the smallest safe crowd, the most rounds."""
