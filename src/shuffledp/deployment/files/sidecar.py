"""What goes with a file of reports: the mechanism, the number of users, and the guarantee."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shuffledp._version import __version__
from shuffledp.accounting import Report
from shuffledp.accounting.sum_view import View, check_view
from shuffledp.basics.sealed import seal, unseal
from shuffledp.deployment.files.columns import Column
from shuffledp.deployment.files.problems import DataError, naming
from shuffledp.mechanisms import LocalRandomizer, parse

_FORMAT = "shuffledp reports, 2"

_SEEDED = (
    "the reports come from a seed, so whoever knows it can undo them and the guarantee does not "
    "hold: only for simulations"
)


@dataclass(frozen=True)
class Guarantee:
    """How private the shuffled reports are.

    Attributes:
        epsilon: the certified epsilon at ``delta``, rounded up.
        delta: the delta.
        lower_bound: an epsilon that no analysis can go below, rounded down.
    """

    epsilon: float
    delta: float
    lower_bound: float

    @staticmethod
    def of(report: Report) -> Guarantee:
        """Return what a report about epsilon says."""
        return Guarantee(report.guarantee.upper, report.target, report.lower_bound)


@dataclass(frozen=True)
class Sidecar:
    """The content of a sidecar.

    Attributes:
        mechanism: the text of the mechanism that made the reports.
        n: the number of users, and so of reports.
        columns: the columns the reports are about.
        guarantee: how private the reports are.
        seeded: whether they can be repeated from a seed, which voids the guarantee.
        warnings: what else limits the guarantee.
        assumptions: what it rests on.
        sha256: the digest of the file of reports.
        size: its number of bytes.
        version: the version of shuffledp that wrote it.
        relation: how neighbouring datasets differ, as :class:`shuffledp.Relation` writes it: what
            the guarantee protects.
        view: what the analyst sees: "multiset", or "sum" if nothing but the sum of the reports was
            written.
        plan: where the reports come from a plan for a study: the plan, which of its shuffles they
            are, and what all of its shuffles reveal together.
    """

    mechanism: str
    n: int
    columns: tuple[Column, ...]
    guarantee: Guarantee
    seeded: bool
    warnings: tuple[str, ...]
    assumptions: tuple[str, ...]
    sha256: str
    size: int
    version: str
    relation: Mapping[str, Any]
    view: View = "multiset"
    plan: Mapping[str, Any] | None = None

    @classmethod
    def beside(
        cls,
        reports: Path,
        randomizer: LocalRandomizer,
        n: int,
        columns: tuple[Column, ...],
        guarantee: Guarantee,
        assumptions: tuple[str, ...],
        *,
        seeded: bool,
        view: View = "multiset",
        plan: Mapping[str, Any] | None = None,
    ) -> Sidecar:
        """Write the sidecar of a file of reports, or of their sum, that is complete."""
        sidecar = cls(
            mechanism=str(randomizer),
            n=n,
            columns=columns,
            guarantee=guarantee,
            seeded=seeded,
            warnings=(_SEEDED,) if seeded else (),
            assumptions=assumptions,
            sha256=digest(reports),
            size=reports.stat().st_size,
            version=__version__,
            relation=randomizer.relation.to_dict(),
            view=view,
            plan=plan,
        )
        sidecar_path(reports).write_text(sidecar.to_json() + "\n", encoding="utf-8")
        return sidecar

    def randomizer(self) -> LocalRandomizer:
        """Return the mechanism.

        Raises:
            DataError: if its neighbour relation is not what is recorded.
        """
        found = parse(self.mechanism, files=False)
        if (own := found.relation.to_dict()) != self.relation:
            raise DataError(f"relation of {found} must be {own}, its sidecar says {self.relation}")
        return found

    def to_json(self) -> str:
        """Return one JSON object; its checksum shows whether somebody changed it."""
        content: dict[str, object] = {"format": _FORMAT, **asdict(self)}
        if self.plan is None:
            del content["plan"]
        return seal(content)

    def check_file(self, path: Path) -> None:
        """Find out whether a file is the one that this sidecar describes.

        Raises:
            DataError: if it is shorter, longer or different, or cannot be read.
        """
        with naming(path, "read"):
            size = path.stat().st_size
            if size != self.size:
                what = "is cut off" if size < self.size else "was added to"
                raise DataError(
                    f"{str(path)!r} {what}: it has {size:,} bytes, its sidecar says {self.size:,}"
                )
            if digest(path) != self.sha256:
                raise DataError(f"{str(path)!r} was changed: its sidecar has another SHA-256")


def read_sidecar(reports: Path) -> Sidecar:
    """Read the sidecar of a file of reports.

    Raises:
        DataError: if there is none, or it is damaged, changed or of another format.
    """
    path = sidecar_path(reports)
    with naming(reports, "read"):
        reports.stat()
    if not path.exists():
        raise DataError(f"{str(reports)!r} has no sidecar: there is no {str(path)!r}")
    with naming(path, "read"):
        raw = path.read_bytes()
    try:
        return _from_content(unseal(raw, _FORMAT))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{str(path)!r} is not the sidecar of reports, or was changed: {_say(error)}"
        ) from None


def _say(error: Exception) -> str:
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)


def _from_content(content: Mapping[str, Any]) -> Sidecar:
    columns = tuple(
        Column(column["name"], None if column["labels"] is None else tuple(column["labels"]))
        for column in content["columns"]
    )
    return Sidecar(
        mechanism=content["mechanism"],
        n=content["n"],
        columns=columns,
        guarantee=Guarantee(**content["guarantee"]),
        seeded=content["seeded"],
        warnings=tuple(content["warnings"]),
        assumptions=tuple(content["assumptions"]),
        sha256=content["sha256"],
        size=content["size"],
        version=content["version"],
        relation=content["relation"],
        view=check_view(content.get("view", "multiset")),
        plan=content.get("plan"),
    )


def sidecar_path(reports: Path) -> Path:
    """Return where the sidecar of a file of reports is.

    >>> sidecar_path(Path("a/reports.csv")).as_posix()
    'a/reports.csv.json'
    """
    return reports.with_name(f"{reports.name}.json")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
