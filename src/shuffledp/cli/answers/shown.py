"""The guarantee of an answer, as people read it, and the JSON around it for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal

from shuffledp._version import __version__
from shuffledp.accounting import Setting
from shuffledp.accounting.sum_view import View
from shuffledp.basics.rounding import plain


def what_is_seen(view: View) -> str:
    """Return the subject of "... (epsilon, delta)-differentially private"."""
    return "the sum of the reports is" if view == "sum" else "the shuffled reports are"


#: How neighbouring datasets differ that do not differ in all rounds alike.
BY_ROUND = "differ in each round as its mechanism says"


def is_private(epsilon: str, delta: str, neighbours: str) -> str:
    """Return what follows "the shuffled reports are".

    >>> is_private("0.5", "1e-6", "replace one")
    '(0.5, 1e-6)-differentially private for neighbouring datasets that replace one'
    """
    claim = f"({epsilon}, {delta})-differentially private"
    return f"{claim} for neighbouring datasets that {neighbours}"


def what_holds(setting: Setting, epsilon: str, delta: str) -> str:
    """Return the claim about a setting of one mechanism.

    >>> setting = Setting(mechanism="krr(3, 1)", n=9, rounds=2, view="sum")
    >>> print(what_holds(setting, "1", "1e-6"))  # doctest: +NORMALIZE_WHITESPACE
    after 2 rounds all sums together are (1, 1e-6)-differentially private for neighbouring datasets
    that replace the inputs of one user in all rounds
    """
    relation = setting.randomizer.relation
    if setting.rounds == 1:
        return f"{what_is_seen(setting.view)} {is_private(epsilon, delta, str(relation))}"
    seen = "sums" if setting.view == "sum" else "shuffled reports"
    together = f"after {setting.rounds:,} rounds all {seen} together are"
    return f"{together} {is_private(epsilon, delta, relation.in_rounds)}"


def shown_guarantee(guarantee: Decimal, rounded: str, met: float | None) -> str:
    """Return the guarantee rounded up; the target that is met, if that takes it there or beyond.

    >>> shown_guarantee(Decimal("0.09996"), "0.1000", 0.1), shown_guarantee(Decimal(2), "2", None)
    ('0.1', '2')
    """
    if met is None or guarantee > met or Decimal(rounded) < Decimal(plain(met)):
        return rounded
    return plain(met)


def envelope(command: str, fields: Mapping[str, object], assumptions: Sequence[str]) -> str:
    """Return the answer of a command, with what it assumes and the version that gave it.

    >>> print(envelope("plan", {"n": 10}, assumptions=["nobody lies"]).replace(__version__, "..."))
    {
      "command": "plan",
      "n": 10,
      "assumptions": [
        "nobody lies"
      ],
      "version": "..."
    }
    """
    facts = {"assumptions": assumptions, "version": __version__}
    return to_json({"command": command, **fields} | facts)


def to_json(fields: Mapping[str, object]) -> str:
    """Return one JSON object; its numbers must be finite, as JSON knows no others."""
    return json.dumps(fields, indent=2, allow_nan=False)
