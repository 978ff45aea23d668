"""Collecting reports: shuffle them, add them up, estimate, and simulate the whole."""

from shuffledp.collection.aggregator import Aggregator
from shuffledp.collection.estimate import ConfidenceInterval, Estimate
from shuffledp.collection.shuffler import shuffle
from shuffledp.collection.simulation import Simulation, simulate
from shuffledp.collection.tiers import estimate_pooled, estimate_tiers
from shuffledp.collection.wire import (
    decode_bytes,
    decode_json,
    encode_bytes,
    encode_json,
    mechanism_id,
)

__all__ = [
    "Aggregator",
    "ConfidenceInterval",
    "Estimate",
    "Simulation",
    "decode_bytes",
    "decode_json",
    "encode_bytes",
    "encode_json",
    "estimate_pooled",
    "estimate_tiers",
    "mechanism_id",
    "shuffle",
    "simulate",
]
