"""Which users of a crowd a published analysis is about."""

from __future__ import annotations

from shuffledp.accounting.crowd import Crowd
from shuffledp.basics.errors import NoAnswerError
from shuffledp.comparison.published.base import Baseline


def users_covered(analysis: type[Baseline], crowd: Crowd) -> int:
    """Return for how many honest users an analysis answers, given a crowd.

    Users who are corrupted in advance add nothing that depends on the honest reports, so that any
    bound for the n - f others is one for the crowd. If more reports are learned after the shuffled
    ones are seen, that argument fails, and published upper bounds say nothing; lower bounds hold
    for one user less with each of these reports, because an analyst may as well choose in advance.

    >>> from shuffledp.comparison.published import BASELINES
    >>> users_covered(BASELINES["blanket_bennett"], Crowd(1000, corrupted=50))
    950
    >>> users_covered(BASELINES["ghazi_uniform"], Crowd(1000, corrupted=50, corrupted_adaptively=5))
    945

    Raises:
        NoAnswerError: if the analysis does not cover the crowd.
    """
    if not crowd.corrupted_adaptively:
        return crowd.honest
    if analysis.kind == "upper":
        raise NoAnswerError("it does not cover reports that are learned adaptively")
    return crowd.honest - crowd.corrupted_adaptively
