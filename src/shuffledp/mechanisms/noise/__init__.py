"""Additive noise."""
