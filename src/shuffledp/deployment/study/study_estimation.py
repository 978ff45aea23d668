"""From the reports of a study to estimates about all its attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

from shuffledp.basics.errors import (
    check_epsilon,
    check_integer,
    check_probability,
    check_type,
    check_types,
)
from shuffledp.basics.extras import import_extra
from shuffledp.collection import Aggregator, Estimate
from shuffledp.collection.cross import CrossTable
from shuffledp.collection.moments import Moments
from shuffledp.deployment.files import Column, DataError, Estimation, Guarantee, Section, Sidecar
from shuffledp.deployment.files.estimation import add_file, checked_sidecar, refuse_copies
from shuffledp.deployment.files.report_files import reports_in
from shuffledp.deployment.files.sidecar import read_sidecar
from shuffledp.deployment.files.tables import is_csv
from shuffledp.deployment.study.answers import Answers, Subgroups
from shuffledp.deployment.study.shuffle import Shuffle
from shuffledp.deployment.study.study_design import StudyDesign
from shuffledp.deployment.study.study_randomization import StudyReports
from shuffledp.mechanisms import Joint


@dataclass(frozen=True, eq=False)
class StudyEstimate:
    """What reports tell about the attributes of a study.

    Attributes:
        design: what was run.
        answers: by the name of the attribute; only those whose reports were there.
        crosses: by the names of several attributes the shares of all combinations of their values,
            the last attribute varying fastest, missing answers among them.
        tables: the cross tables that these shares come from.
    """

    design: StudyDesign
    answers: dict[str, Answers]
    crosses: dict[tuple[str, ...], Estimate]
    tables: dict[tuple[str, ...], Subgroups]

    def __getitem__(self, name: str) -> Answers:
        """Return the answers about an attribute."""
        if name not in self.answers:
            raise KeyError(f"there are no reports about an attribute {name!r}")
        return self.answers[name]

    def cells(self, *names: str) -> list[tuple[str, ...]]:
        """Return the combinations of labels to which the entries of a cross table belong."""
        return list(product(*(self.design.study[name].values for name in names)))

    def among(self, name: str, /, **given: str) -> Estimate:
        """Return the shares of an attribute's labels among those with given values of others.

        It needs the cross table of exactly these attributes. Attributes whose names are not words
        can be given as ``**{"the name": "value"}``.

        Raises:
            KeyError: if there is no such cross table.
            ValueError: if a value is unknown, or hardly anybody holds the given ones.
        """
        for names, table in self.tables.items():
            if set(names) == {name, *given} and name not in given:
                return table.shares(name, given)
        wanted = " x ".join((name, *given))
        raise KeyError(f"there is no cross table of {wanted}: name it in the study's crosses")

    def subgroup(self, given: Mapping[str, str]) -> list[Section]:
        """Return the shares of other attributes among those with given values.

        They come from all cross tables of the given attributes and one more.

        Raises:
            ValueError: if there is no such cross table, a value is unknown, or hardly anybody
                holds the given ones.
        """
        shown, found = ", ".join(f"{name} = {value}" for name, value in given.items()), []
        for names in self.tables:
            others = [name for name in names if name not in given]
            if len(others) == 1 and set(given) < set(names):
                attribute = self.design.study[others[0]]
                column = Column(f"{attribute.name} among {shown}", attribute.counted)
                shares = self.among(attribute.name, **given)
                found.append(Section(column, None, False, shares))
        if not found:
            raise ValueError(
                f"there is no cross table of {' x '.join(given)} and one more attribute: name it "
                "in the study's crosses"
            )
        return found

    def sections(self) -> list[Section]:
        """Return all estimates with their labels, shares before means."""
        found = []
        for name, own in self.answers.items():
            shares, mean, missing = own.shares, own.mean, own.missing
            if shares is not None:
                found.append(Section(Column(name, own.labels), None, False, shares))
            if mean is not None:
                found.append(Section(Column(name), None, True, mean))
            if missing is not None and (shares is None or own.labels == own.attribute.labels):
                column = Column(f"{name}: missing answers", own.attribute.values[-1:] or ("share",))
                found.append(Section(column, None, False, missing))
        for names, table in self.crosses.items():
            labels = tuple(", ".join(cell) for cell in self.cells(*names))
            found.append(Section(Column(" x ".join(names), labels), None, False, table))
        return found

    def to_frame(
        self, level: float = 0.95, *, library: Literal["pandas", "polars"] = "pandas"
    ) -> Any:
        """Return all estimates in a frame, one row each, with both kinds of intervals.

        Args:
            level: the confidence level.
            library: what the frame is of.

        Raises:
            MissingExtraError: if that is not installed.
            ValueError: if it is unknown.
        """
        if library not in ("pandas", "polars"):
            raise ValueError(f"library must be 'pandas' or 'polars', got {library!r}")
        return import_extra(library).DataFrame(self._rows(level))

    def _rows(self, level: float) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = []
        for section in self.sections():
            own = section.estimate
            alone = own.confidence_interval(level)
            together = own.confidence_interval(level, simultaneous=True)
            names = ["mean"] if section.is_mean else section.values
            for i, name in enumerate(names):
                rows.append(
                    {
                        "attribute": section.column.name,
                        "value": name,
                        "estimate": float(own.values[i]),
                        "standard_error": float(own.standard_errors[i]),
                        "lower": float(alone.lower[i]),
                        "upper": float(alone.upper[i]),
                        "lower_all": float(together.lower[i]),
                        "upper_all": float(together.upper[i]),
                    }
                )
        return rows


@dataclass(frozen=True, eq=False)
class StudyEstimation(Estimation):
    """What files of reports tell about a study.

    Attributes:
        estimate: the estimates.
    """

    estimate: StudyEstimate = field(kw_only=True)

    @property
    def guarantee(self) -> tuple[float, float]:
        """What all shuffles of a user reveal together, weakest over the files.

        It holds if every user is in one file of each shuffle only.
        """
        totals = [_plan(sidecar)["total"] for sidecar in self.sidecars]
        return max(one["epsilon"] for one in totals), max(one["delta"] for one in totals)


def estimate_reports(collected: StudyReports) -> StudyEstimate:
    """Estimate from reports in memory."""
    check_type("collected", collected, StudyReports)
    sums = [_Sums(collected.design, one) for one in collected.design.shuffles]
    for own, reports in zip(sums, collected.reports, strict=True):
        own.add(reports)
        own.users = collected.n
    return _estimate(collected.design, sums)


def is_study(path: Path) -> bool:
    """Whether a file of reports comes from a plan for a study.

    Raises:
        DataError: if its sidecar cannot be read.
    """
    is_csv(path)  # or it is a Parquet file, or refused
    return read_sidecar(path).plan is not None


def estimate_study_files(paths: Sequence[Path]) -> StudyEstimation:
    """Check the files of reports of a study against their sidecars, and estimate from them.

    Several files of one shuffle, of different users, are taken together.

    Raises:
        DataError: if a file or its sidecar cannot be read or does not match the other, or files are
            of different plans, or equal.
    """
    paths = check_types("paths", paths, Path)
    sidecars = tuple(checked_sidecar(path) for path in paths)
    for path, sidecar in zip(paths, sidecars, strict=True):
        if sidecar.plan is None:
            raise DataError(f"{str(path)!r} is not of a plan, as {str(paths[0])!r} is")
        _check_plan(path, sidecar)
        if _plan(sidecar)["design"] != _plan(sidecars[0])["design"]:
            raise DataError(f"{str(path)!r} is of another plan than {str(paths[0])!r}")
    refuse_copies(paths, sidecars)
    try:
        design = StudyDesign.from_dict(_plan(sidecars[0])["design"])
        places = [design.shuffles[_plan(sidecar)["shuffle"]] for sidecar in sidecars]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise DataError(f"the sidecar of {str(paths[0])!r} contradicts itself: {error}") from None
    sums = {one.names: _Sums(design, one) for one in places}
    for path, sidecar, one in zip(paths, sidecars, places, strict=True):
        if sidecar.mechanism != str(one.mechanism):
            raise DataError(f"the sidecar of {str(path)!r} contradicts itself: two mechanisms")
        add_file(sums[one.names].add, reports_in(path, one.mechanism.report_dtype), sidecar)
        sums[one.names].users += _users(path, sidecar, one)
    try:
        estimate = _estimate(design, sums.values())
        sections = tuple(estimate.sections())
    except ValueError as error:
        raise DataError(str(error)) from None
    mechanisms = ", ".join(str(one.mechanism) for one in design.shuffles)
    n = max(own.users for own in sums.values())
    return StudyEstimation(mechanisms, n, sidecars, sections, estimate=estimate)


def _plan(sidecar: Sidecar) -> Any:
    return sidecar.plan


def _check_plan(path: Path, sidecar: Sidecar) -> None:
    """Find out whether a sidecar says of which plan and shuffle it is, and what all reveal.

    Raises:
        DataError: if it does not.
    """
    plan = _plan(sidecar)
    try:
        total = Guarantee(**plan["total"])
        check_epsilon(total.epsilon, "epsilon")
        check_probability("delta", total.delta)
        check_integer("shuffle", plan["shuffle"], 0, len(plan["design"]["shuffles"]) - 1)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"the sidecar of {str(path)!r} contradicts itself: {error}") from None


def _users(path: Path, sidecar: Sidecar, one: Shuffle) -> int:
    """Return how many users there were, those who sent other reports included.

    Raises:
        DataError: if that contradicts the number of reports.
    """
    users = _plan(sidecar).get("users")
    is_count = isinstance(users, int) and not isinstance(users, bool)
    if not is_count or (users != sidecar.n if one.share == 1 else users < sidecar.n):
        raise DataError(f"the sidecar of {str(path)!r} contradicts itself: {users!r} users")
    return int(users)


class _Sums:
    """Sums over the reports of one shuffle, those of cross tables included."""

    def __init__(self, design: StudyDesign, one: Shuffle) -> None:
        self.shuffle, self.aggregator = one, Aggregator(one.mechanism)
        self.users = 0  # all, those who did not send this report included
        self.crosses = {
            names: CrossTable(one.mechanism, *(one.names.index(name) for name in names))
            for names in design.crosses_in(one)
            if isinstance(one.mechanism, Joint)
        }

    def add(self, reports: NDArray[Any]) -> None:
        self.aggregator.add(reports)
        for table in self.crosses.values():
            table.add(reports)


def _estimate(design: StudyDesign, sums: Iterable[_Sums]) -> StudyEstimate:
    answers: dict[str, Answers] = {}
    tables: dict[tuple[str, ...], Subgroups] = {}
    for own in sums:
        results = own.aggregator.results()
        each = results if isinstance(results, tuple) else (results,)
        for name, part, moments in zip(own.shuffle.names, own.shuffle.parts, each, strict=True):
            if not isinstance(moments, Moments):
                raise TypeError(f"the mechanism of {name!r} must be a simple one, got {part}")
            answers[name] = Answers(design.study[name], part, moments, own.users)
        for names, table in own.crosses.items():
            attributes = tuple(design.study[name] for name in names)
            tables[names] = Subgroups(attributes, table, own.users)
    crosses = {names: table.whole for names, table in tables.items()}
    return StudyEstimate(design, answers, crosses, tables)
