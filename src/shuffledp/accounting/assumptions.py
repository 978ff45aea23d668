"""What n, neighbours, the view, epsilon0 and written numbers mean, for every answer."""

from __future__ import annotations

#: The assumptions behind every number.
ASSUMPTIONS = (
    "n counts all users, the one whose data changes included",
    "neighbouring datasets replace the input of one user",
    "the analyst sees the shuffled multiset of whole reports",
)

#: What an analyst sees who only gets sums.
_SUM = "the analyst sees nothing but the sum of the reports"


def assumptions_of(view: str) -> tuple[str, ...]:
    """Return the assumptions behind numbers for the view "multiset" or "sum".

    >>> assumptions_of("sum")[-1]
    'the analyst sees nothing but the sum of the reports'
    """
    return ASSUMPTIONS if view == "multiset" else (*ASSUMPTIONS[:-1], _SUM)


#: What several rounds assume, besides.
ROUNDS = (
    "every round has fresh noise and a fresh shuffle",
    "reports of one user cannot be linked across rounds; if they can, they are one joint report",
    "neighbouring datasets replace the inputs of one user in all rounds",
    "mechanisms, numbers of users and of rounds are planned in advance; data may react to what was "
    "published",
)


def limited(rounds: int) -> str:
    """Return what it means that a user takes part in at most so many rounds."""
    return (
        f"each user takes part in at most {rounds:,} of the rounds, in a pattern that depends "
        "neither on private data nor on own earlier reports"
    )


#: How the numbers of a proof are meant, besides.
EXACT_NUMBERS = (
    "parameters of the mechanism are the doubles nearest to the decimals written",
    "rows of a matrix and weights of a parallel composition are divided by their exact sums",
    "epsilon, delta and the enclosures are the decimals written, exactly",
)

#: What the level in a mechanism's text means.
LEVEL = "epsilon0 is the replace-one LDP level of the local randomizer"
