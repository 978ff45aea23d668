"""The figures, tables and claims of the paper, computed again.

>>> "krr-low" in ITEMS
True
"""

from shuffledp.reproduction.items import ITEMS
from shuffledp.reproduction.run import Outcome, reproduce
from shuffledp.reproduction.settings import Settings

__all__ = ["ITEMS", "Outcome", "Settings", "reproduce"]
