"""Collecting reports: shuffle them, add them up, estimate, and simulate the whole."""

from shuffledp.collection.aggregator import Aggregator
from shuffledp.collection.estimate import ConfidenceInterval, Estimate
from shuffledp.collection.shuffler import shuffle
from shuffledp.collection.simulation import Simulation, simulate

__all__ = [
    "Aggregator",
    "ConfidenceInterval",
    "Estimate",
    "Simulation",
    "shuffle",
    "simulate",
]
