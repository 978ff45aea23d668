"""What n, neighbours, the view, epsilon0 and written numbers mean, for every answer."""

from __future__ import annotations

#: The assumptions behind every number.
ASSUMPTIONS = (
    "n counts all users, the one whose data changes included",
    "neighbouring datasets replace the input of one user",
    "the analyst sees the shuffled multiset of whole reports",
)

#: How the numbers of a proof are meant, besides.
EXACT_NUMBERS = (
    "parameters of the mechanism are the doubles nearest to the decimals written",
    "rows of a matrix and weights of a parallel composition are divided by their exact sums",
    "epsilon, delta and the enclosures are the decimals written, exactly",
)

#: What the level in a mechanism's text means.
LEVEL = "epsilon0 is the replace-one LDP level of the local randomizer"
