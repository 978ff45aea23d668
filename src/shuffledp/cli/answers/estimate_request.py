"""What ``shuffledp estimate`` was asked, checked before any work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import click

from shuffledp.accounting import Group, OpenGroup
from shuffledp.basics.cluster import Client
from shuffledp.cli.answers.chart_files import keep_apart
from shuffledp.deployment.files import (
    DataError,
    Estimation,
    estimate_files,
    estimate_pooled_counts,
    estimate_published,
    estimate_tier_files,
    sidecar_path,
)
from shuffledp.deployment.study import estimate_study_files
from shuffledp.deployment.study.study_estimation import is_study
from shuffledp.mechanisms import LocalRandomizer


@dataclass(frozen=True, kw_only=True)
class EstimateRequest:
    """The options of the command line, by their names there."""

    reports: tuple[Path, ...]
    from_counts: Path | None
    mechanism: LocalRandomizer | None
    groups: tuple[Group | OpenGroup, ...]
    tiers: bool
    corrupted: int | Fraction
    confidence: float
    simultaneous: bool
    project: bool
    given: dict[str, str]
    top: int | None
    charts: tuple[Path, ...]
    cluster: str | None
    as_json: bool
    as_csv: bool

    def __post_init__(self) -> None:
        """Refuse what is missing, and what would be ignored."""
        counts = self.from_counts is not None
        refused = {
            "give one of --json and --csv": self.as_json and self.as_csv,
            "give either REPORTS or --from-counts": bool(self.reports) == counts,
            "give one of --mechanism and --group": self.mechanism is not None and bool(self.groups),
            "--mechanism and --group belong to --from-counts": not counts
            and (self.mechanism is not None or bool(self.groups)),
            "--cluster does not go with --from-counts: there is one sum": counts
            and self.cluster is not None,
            "--cluster does not go with --tiers": self.tiers and self.cluster is not None,
            "--tiers belongs to files of reports; for counts give --group": self.tiers and counts,
            "--corrupted is not known for tiers": bool(self.corrupted)
            and (self.tiers or bool(self.groups)),
        }
        for message, is_wrong in refused.items():
            if is_wrong:
                raise click.UsageError(message)
        read = self.reports if self.from_counts is None else (self.from_counts,)
        keep_apart(self.charts, [*read, *map(sidecar_path, read)])

    def files(self, estimation: Estimation) -> tuple[Path, ...]:
        """Return the files that sidecars belong to."""
        if self.from_counts is None:
            return self.reports
        return (self.from_counts,) if estimation.sidecars else ()

    def estimation(self, client: Client | None) -> Estimation:
        """Return what the reports or their sum tell."""
        try:
            return self._estimation(client)
        except DataError as error:
            raise click.ClickException(str(error)) from None
        except ValueError as error:  # so many corrupted users are not there
            raise click.UsageError(str(error)) from None

    def _estimation(self, client: Client | None) -> Estimation:
        if self.from_counts is None and not self.tiers:
            return self._from_files(client)
        self._refuse_for_one()
        if self.from_counts is None:
            return estimate_tier_files(self.reports)
        if self.groups:
            return estimate_pooled_counts(self.from_counts, _known(self.groups))
        if self.mechanism is None and not sidecar_path(self.from_counts).exists():
            raise click.UsageError(
                "--from-counts needs --mechanism or --group, unless a sidecar says it"
            )
        return estimate_published(self.from_counts, self.mechanism, self.corrupted)

    def _from_files(self, client: Client | None) -> Estimation:
        """Estimate from the reports of one mechanism, or of the plan of a study."""
        if not is_study(self.reports[0]):
            self._refuse_for_one()
            return estimate_files(self.reports, self.corrupted, client=client)
        if self.corrupted:
            raise click.UsageError(
                "--corrupted is not known for the reports of a plan: means, shares among those who "
                "answer and cross tables are sums, ratios and products of estimates, which "
                "somebody who chooses reports moves in other ways"
            )
        if client is not None:
            raise click.UsageError("--cluster does not go with the reports of a plan")
        found = estimate_study_files(self.reports)
        if not self.given:
            return found
        return replace(found, sections=(*found.sections, *found.estimate.subgroup(self.given)))

    def _refuse_for_one(self) -> None:
        """Refuse what only the reports of a study tell."""
        for name, value in (("--given", self.given), ("--top", self.top)):
            if value:
                raise click.UsageError(f"{name} is for the reports of a plan for a study")


def _known(groups: Sequence[Group | OpenGroup]) -> list[Group]:
    """Return tiers, the levels of which must be given."""
    known = []
    for group in groups:
        if not isinstance(group, Group):
            raise click.UsageError(f"--group must name a mechanism with epsilon0: {group.family}")
        known.append(group)
    return known
