"""Settings with fabricated messages, or with noise in counts, and their curves."""

from shuffledp.accounting.messages.fabrication import FabricatedMessages
from shuffledp.accounting.messages.max_weight import MaxWeightSums
from shuffledp.accounting.messages.noisy_counts import NoisyCounts, honest_contributors
from shuffledp.accounting.messages.solve import fewest_devices, least_fabricated, least_noise

__all__ = [
    "FabricatedMessages",
    "MaxWeightSums",
    "NoisyCounts",
    "fewest_devices",
    "honest_contributors",
    "least_fabricated",
    "least_noise",
]
