"""Mechanisms made of others."""
