"""Mechanisms given by their table, and what stands for any of a level."""
