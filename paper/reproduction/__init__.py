"""The figures, tables and claims of the paper, computed again.

>>> "krr-low" in ITEMS
True
"""

from reproduction.items import ITEMS
from reproduction.run import Outcome, reproduce
from reproduction.settings import Settings

__all__ = ["ITEMS", "Outcome", "Settings", "reproduce"]
