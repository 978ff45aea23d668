"""How finely the paper's figures are computed."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.basics.errors import check_integer

#: Failure probability of the shuffled reports in all experiments of the paper.
DELTA = 1e-6

#: Smallest and largest number of users.
FEWEST, MOST = 10**3, 10**5

#: The paper's two LDP levels: low and large.
LEVELS = {"low": 0.1, "large": 4.0}

#: What to say about figures of one level that the paper does not name.
LEVEL_UNKNOWN = (
    "The paper does not state the level of this figure, so both of its levels are computed."
)

#: Numbers of users per curve in the paper.
FULL = 100


@dataclass(frozen=True)
class Settings:
    """The grid of a run; the default is the paper's.

    Args:
        points: how many numbers of users, 2 to 1000.

    >>> Settings(points=3).users
    (1000, 10000, 100000)
    """

    points: int = FULL

    def __post_init__(self) -> None:
        """Check the parameter."""
        object.__setattr__(self, "points", check_integer("points", self.points, 2, 1000))

    @property
    def users(self) -> tuple[int, ...]:
        """Numbers of users in geometric steps, rounded to whole ones."""
        return geometric(FEWEST, MOST, self.points)

    def to_dict(self) -> dict[str, float]:
        """Return everything that is the same for all curves, for the record of a run."""
        return {"points": self.points, "delta": DELTA, "fewest_users": FEWEST, "most_users": MOST}


def geometric(first: int, last: int, count: int) -> tuple[int, ...]:
    """Return up to ``count`` different whole numbers in geometric steps, both ends included.

    >>> geometric(2, 100, 4)
    (2, 7, 27, 100)
    """
    ratio = last / first
    steps = (round(first * ratio ** (i / (count - 1))) for i in range(count))
    return tuple(dict.fromkeys(steps))
