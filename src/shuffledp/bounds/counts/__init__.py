"""Curves of counts: one message among fabricated ones, and counts with noise of their own."""
