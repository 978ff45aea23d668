"""``shuffledp audit``: what runs of the mechanism itself reveal."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import click
import numpy as np

from shuffledp.accounting.assumptions import noteworthy
from shuffledp.basics.rounding import percent, plain, round_down, round_up
from shuffledp.basics.wording import counted, fill, shorten
from shuffledp.cli.answers.facts import EPILOG
from shuffledp.cli.answers.shown import envelope
from shuffledp.cli.parameters import (
    DELTA,
    EPSILON,
    JSON,
    confidence_option,
    optional,
    reading,
    whole,
)
from shuffledp.cli.setting_options import SETTING, complete, refuse, save_setting, take_setting
from shuffledp.cli.terminal import counter
from shuffledp.deployment.audit import Audit
from shuffledp.deployment.audit import audit as run_audit
from shuffledp.deployment.audit.runs import MAX_TRIALS

_PARAMETERS = [
    *SETTING[:2],
    optional(DELTA),
    optional(EPSILON),
    click.Option(
        ["--trials"],
        callback=reading(whole("trials", 2, MAX_TRIALS)),
        metavar="INTEGER",
        default="10000",
        show_default=True,
        help="How often to run the mechanism on each of two datasets; half of the runs choose what "
        "to count, the others are counted.",
    ),
    confidence_option("0.999", "Probability with which the bound of the audit must hold."),
    click.Option(
        ["--seed"],
        callback=reading(whole("seed", 0, 2**128)),
        metavar="INTEGER",
        help="Make runs that can be repeated; without it random bits come from the operating "
        "system.",
    ),
    *SETTING[2:],
    JSON,
]

#: What the JSON says of the certified answer.
_KEPT = (
    "mechanism",
    "relation",
    "n",
    "target_epsilon",
    "target_delta",
    "quantity",
    "guarantee",
    "lower_bound",
    "datasets",
)


@click.command(params=_PARAMETERS, epilog=EPILOG)
def audit(
    delta: float | None,
    epsilon: float | None,
    trials: int,
    confidence: float,
    seed: int | None,
    as_json: bool,
    kept: str | None,
    **options: Any,
) -> None:
    """Run a mechanism and count what its reports reveal.

    The mechanism runs many times on the worst two datasets that are known. What the shuffled
    reports tell about them bounds the epsilon at a delta, or the delta at an epsilon, from below,
    and is printed beside the certified bounds: a check that assumes nothing about the law of the
    reports. If the runs show more than the guarantee allows, the exit code is 1.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them.
    """
    if (delta is None) == (epsilon is None):
        raise click.UsageError("give one of --delta and --epsilon: the other one is bounded")
    setting = complete(take_setting(options))
    why = "an audit counts the shuffled reports of one round of honest users"
    refuse(setting, why, "groups", *(name for name in setting.conditions if name != "bound"))
    with counter(trials, "run") as on_done:
        found = run_audit(
            setting.randomizer,
            setting.crowd.n,
            target_delta=delta,
            target_epsilon=epsilon,
            trials=trials,
            confidence=confidence,
            rng=None if seed is None else np.random.default_rng(seed),
            on_done=on_done,
        )
    result = _Result(found, trials, seed)
    if not found.agrees:
        raise click.ClickException(result.contradiction)
    save_setting(setting, kept)
    click.echo(result.to_json() if as_json else result.to_text())


@dataclass(frozen=True)
class _Result:
    """An audit, and how it was run."""

    audit: Audit
    trials: int
    seed: int | None

    def to_text(self) -> str:
        """Return aligned lines and one sentence of meaning."""
        audit, report, name = self.audit, self.audit.report, self.audit.report.quantity
        hits, runs = " and ".join(f"{count:,}" for count in audit.hits), counted(audit.runs, "run")
        rows = [
            ("mechanism", shorten(str(report.randomizer))),
            ("users", f"{report.n:,}"),
            ("delta" if name == "epsilon" else "epsilon", plain(report.target)),
            ("datasets", report.datasets_in_words),
            ("guarantee", f"{name} = {self._guarantee}  (certified)"),
            ("lower bound", f"{name} = {round_down(report.lower_bound)}  (certified)"),
            (
                "audit",
                f"{name} >= {round_down(audit.lower_bound)}  ({self._confidence}; event seen in "
                f"{hits} of {runs})",
            ),
        ]
        lines = [label.ljust(13) + value for label, value in rows]
        facts = [f"This assumes that {fact}." for fact in noteworthy([report.randomizer])]
        return "\n".join([*lines, "", *map(fill, (self._meaning, *facts))])

    @property
    def _meaning(self) -> str:
        if self.audit.lower_bound == 0:
            return self._nothing
        name, shown = self.audit.report.quantity, round_down(self.audit.lower_bound)
        text = (
            f"Runs on these datasets show {name} >= {shown} with {self._confidence}, which agrees "
            "with the guarantee."
        )
        if self.audit.lower_bound < 0.9 * self.audit.report.lower_bound:
            text += (
                " Runs show less than what is certain to leak, because rare events are not seen "
                "often enough; more --trials show more."
            )
        return text

    @property
    def _nothing(self) -> str:
        """What to say when the runs show nothing."""
        enough = self.audit.enough_trials
        text = "The runs show nothing, which agrees with every guarantee: "
        if enough is None:
            return (
                f"{text}what these datasets reveal is too little for {MAX_TRIALS:,} --trials. "
                "Fewer users reveal more."
            )
        if enough > self.trials:
            return f"{text}they are too few. About {_two_digits(enough)} --trials show something."
        return f"{text}chance hid what these datasets reveal. More --trials show more."

    @property
    def contradiction(self) -> str:
        """What to say when the runs show more than the guarantee allows."""
        audit, report = self.audit, self.audit.report
        return (
            f"the runs contradict the guarantee: they show {report.quantity} >= "
            f"{round_down(audit.lower_bound)} with {self._confidence}, but {report.quantity} = "
            f"{self._guarantee} is certified for {counted(report.n, 'user')} of "
            f"{shorten(str(report.randomizer))}; chance alone explains that in at most "
            f"{percent(1 - Decimal(repr(audit.confidence)))} of audits"
        )

    @property
    def _confidence(self) -> str:
        return f"{percent(self.audit.confidence)} confidence"

    @property
    def _guarantee(self) -> str:
        return round_up(self.audit.report.guarantee.upper)

    def to_json(self) -> str:
        """Return one JSON object; docs/json.md documents its fields."""
        audit, answer = self.audit, self.audit.report.to_dict()
        fields = {name: answer[name] for name in _KEPT}
        fields["audit"] = {
            "lower_bound": audit.lower_bound,
            "confidence": audit.confidence,
            "trials": self.trials,
            "enough_trials": audit.enough_trials,
            "runs_counted": audit.runs,
            "hits": list(audit.hits),
            "seed": self.seed,
        }
        return envelope("audit", fields, audit.report.assumptions)


def _two_digits(count: int) -> str:
    """Return a whole number, rounded up."""
    unit = 10 ** max(len(str(count)) - 2, 0)
    return f"{-(-count // unit) * unit:,}"
