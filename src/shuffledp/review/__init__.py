"""The document for a review board: one page that says what is promised, to whom, and why."""

from shuffledp.review.cover import Cover
from shuffledp.review.page import review_page
from shuffledp.review.whole import Whole

__all__ = ["Cover", "Whole", "review_page"]
