"""Collecting reports: shuffle them, add them up, estimate, and simulate the whole."""

from shuffledp.collection.aggregator import Aggregator
from shuffledp.collection.estimate import ConfidenceInterval, Estimate
from shuffledp.collection.shuffler import shuffle
from shuffledp.collection.simulation import Simulation, simulate
from shuffledp.collection.tiers import estimate_pooled, estimate_tiers

__all__ = [
    "Aggregator",
    "ConfidenceInterval",
    "Estimate",
    "Simulation",
    "estimate_pooled",
    "estimate_tiers",
    "shuffle",
    "simulate",
]
