"""Bounds: certified curves of delta against epsilon, and how they combine."""
