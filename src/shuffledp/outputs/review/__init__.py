"""The document for a review board: one page that says what is promised, to whom, and why."""

from shuffledp.outputs.review.cover import Cover, Whole
from shuffledp.outputs.review.embedded import certificate_in
from shuffledp.outputs.review.page import review_page

__all__ = ["Cover", "Whole", "certificate_in", "review_page"]
