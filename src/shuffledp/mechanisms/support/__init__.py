"""Mechanisms that report each output with one of two probabilities."""
