"""All bounds on the epsilon of one mechanism, side by side."""

from __future__ import annotations

import csv
import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.answered import OneMechanism
from shuffledp.accounting.assumptions import ROUNDS, assumptions_in, particulars
from shuffledp.accounting.report import level_fields
from shuffledp.accounting.setting import Conditions, Setting
from shuffledp.accounting.sum_view import view_in_words
from shuffledp.basics.errors import AccuracyWarning, check_delta, check_rtol, check_users
from shuffledp.basics.figures import Dot, plot_dots
from shuffledp.basics.markup import Markup, bar, grid
from shuffledp.basics.rounding import given_or_up, nearest, plain, round_down, round_up
from shuffledp.basics.wording import counted, fill, shorten
from shuffledp.comparison.bounds import BOUNDS, OURS, relation_of
from shuffledp.comparison.curves import to_frame
from shuffledp.comparison.question import Question, answer
from shuffledp.mechanisms import LocalRandomizer, Relation, as_randomizer

_NO_VALUE = "-"
_HEAD = ("bound on epsilon", "epsilon", "to ours", "to lower bound")


@dataclass(frozen=True)
class Row:
    """What one analysis says.

    Attributes:
        bound: its name for programs.
        title: its name for people.
        kind: whether it bounds, or claims to bound, the privacy loss from above or from below.
        sound: whether it does; False where datasets are known that refute the claim.
        epsilon: its answer, None where it has none.
        ratio_to_ours: its answer divided by our guarantee; None where either is missing or 0.
        ratio_to_lower_bound: its answer divided by our lower bound, likewise.
        reason: why there is no answer, else None.
        relation: how the datasets differ that it is about.
    """

    bound: str
    title: str
    kind: Literal["upper", "lower"]
    sound: bool
    epsilon: float | None
    ratio_to_ours: float | None
    ratio_to_lower_bound: float | None
    reason: str | None
    relation: Relation

    def to_dict(self) -> dict[str, object]:
        """Return all of it, as tables hold it."""
        return asdict(self) | {"relation": str(self.relation)}

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """The shown texts: the answer rounded to its safe side, the ratios to the nearest."""
        shown = _NO_VALUE
        if self.epsilon is not None:
            shown = (round_up if self.kind == "upper" else round_down)(self.epsilon)
        ratios = (self.ratio_to_ours, self.ratio_to_lower_bound)
        to_ours, to_lower = (_NO_VALUE if r is None else nearest(r) for r in ratios)
        named = self.kind == "upper" or "lower" in self.title
        mark = ("" if named else " (lower)") if self.sound else " (unsound)"
        return f"{self.title}{mark}", shown, to_ours, to_lower


@dataclass(frozen=True, repr=False)
class Comparison(OneMechanism):
    """All analyses of one mechanism, ours first; :func:`compare` makes it.

    ``print`` shows the table of the command line, and a notebook shows it as well.

    Attributes:
        setting: what was asked about.
        target_delta: the delta at which epsilon is asked for.
        rtol: the relative width that was asked for.
        rows: what each analysis says.
    """

    setting: Setting
    target_delta: float
    rtol: float
    rows: tuple[Row, ...]

    @property
    def bounds(self) -> tuple[str, ...]:
        """The names of the analyses."""
        return tuple(row.bound for row in self.rows)

    @property
    def epsilon(self) -> NDArray[np.float64]:
        """Their answers, upper bounds rounded up and lower bounds down; NaN where there is none."""
        return np.array([row.epsilon for row in self.rows], dtype=np.float64)

    @property
    def ratio_to_ours(self) -> NDArray[np.float64]:
        """Their answers divided by our guarantee; NaN where either is missing or 0."""
        return np.array([row.ratio_to_ours for row in self.rows], dtype=np.float64)

    @property
    def ratio_to_lower_bound(self) -> NDArray[np.float64]:
        """Their answers divided by our lower bound; NaN where either is missing or 0."""
        return np.array([row.ratio_to_lower_bound for row in self.rows], dtype=np.float64)

    @property
    def title(self) -> str:
        """The question in one line."""
        return ", ".join(
            (
                shorten(str(self.randomizer)),
                str(self.crowd),
                f"delta = {plain(self.target_delta)}",
                *(["only the sum is seen"] if self.view == "sum" else []),
                *self._rounds,
            )
        )

    @property
    def _rounds(self) -> list[str]:
        """How many rounds there are, if several."""
        if self.setting.rounds == 1:
            return []
        most = self.setting.at_most
        some = "" if most is None else f", each user in at most {most:,} of them"
        return [f"{counted(self.setting.rounds, 'round')}{some}"]

    @property
    def view_in_words(self) -> str:
        """What the analyst sees, and what follows from it."""
        return view_in_words(self.randomizer, self.view, self.crowd)

    def __repr__(self) -> str:
        """Say what this is; ``str`` holds the numbers."""
        return f"<{counted(len(self.rows), 'bound')} on epsilon: {self.title}>"

    def __str__(self) -> str:
        """Return the question, a table of the answers, and why the others have none."""
        head = (
            ("mechanism", shorten(str(self.randomizer))),
            ("users", self.crowd.in_figures),
            ("delta", plain(self.target_delta)),
            *(("rounds", words) for words in self._rounds),
        )
        lines = [label.ljust(11) + value for label, value in head]
        lines.append("")
        cells = [_HEAD, *(row.cells for row in self.rows if row.epsilon is not None)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for title, *numbers in cells:
            columns = (text.rjust(w) for text, w in zip(numbers, widths[1:], strict=True))
            lines.append("  ".join((title.ljust(widths[0]), *columns)))
        missing = [row for row in self.rows if row.epsilon is None]
        if missing:
            lines += ["", "No answer:"]
        for row in missing:
            note = f"{row.title}: {row.reason}"
            lines.append(fill(note, first="  ", rest="    "))
        if refuted := [row.title for row in self.rows if row.epsilon and not row.sound]:
            named = ", ".join(refuted)
            lines += ["", fill(f"Unsound: in some settings datasets reveal more than {named}.")]
        if self.crowd.assumptions:
            lines += ["", fill(self.covered)]
        if self.setting.rounds > 1:
            lines += ["", *(fill(f"This assumes that {fact}.") for fact in ROUNDS)]
        if not self.relation.replaces_input:
            lines += ["", fill(self.compared)]
        for fact in particulars(self.randomizer, "best"):
            lines += ["", fill(f"This assumes that {fact}.")]
        if self.view == "sum":
            note = f"The analyst sees {self.view_in_words}. All other bounds are of the multiset."
            lines += ["", fill(note)]
        return "\n".join(lines)

    @property
    def relation(self) -> Relation:
        """How neighbouring datasets differ, for our bounds."""
        return self.randomizer.relation

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the numbers assume."""
        return assumptions_in(self.setting, [self.randomizer])

    @property
    def compared(self) -> str:
        """What each side of the comparison is about, where that is not the same."""
        level = self.randomizer.domain_epsilon0
        of_level = f", {given_or_up(level)}," if math.isfinite(level) else ""
        return (
            f"Our bounds are for neighbouring datasets that {self.relation}. Published ones that "
            f"know the level alone{of_level} are for those that {Relation()}; they hold for less "
            "as well."
        )

    @property
    def covered(self) -> str:
        """Which users published bounds are about."""
        left = self.crowd.honest - self.crowd.corrupted_adaptively
        if self.crowd.corrupted_adaptively:
            return f"Published lower bounds are those of {counted(left, 'honest user')}."
        return f"Published bounds are those of {counted(left, 'honest user')}."

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        most = max((row.epsilon for row in self.rows if row.epsilon), default=1.0)
        return grid(self.title, (*_HEAD, ""), (_shown(row, most) for row in self.rows))

    @property
    def _asked(self) -> dict[str, object]:
        """The users, the rounds and delta."""
        return {
            "n": self.n,
            "corrupted": self.crowd.corrupted,
            "corrupted_adaptively": self.crowd.corrupted_adaptively,
            "rounds": self.setting.rounds,
            "at_most": self.setting.at_most,
            "target_delta": self.target_delta,
        }

    def to_dict(self) -> dict[str, object]:
        """Return the fields that the command line prints as JSON."""
        return {
            "mechanism": str(self.randomizer),
            "relation": self.relation.to_dict(),
            **level_fields(self.randomizer),
            **self._asked,
            "quantity": "epsilon",
            "view": self.view,
            "rtol": self.rtol,
            "bounds": [row.to_dict() | {"relation": row.relation.to_dict()} for row in self.rows],
        }

    def to_csv(self) -> str:
        """Return one line per analysis with all digits; what is missing is empty."""
        text = io.StringIO()
        question = {"mechanism": str(self.randomizer), **self._asked, "view": self.view}
        rows = [question | row.to_dict() for row in self.rows]
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame, one row per bound; NaN where there is no answer.

        Raises:
            MissingExtraError: an ImportError, if pandas is not installed.
        """
        numbers = zip(self.epsilon, self.ratio_to_ours, self.ratio_to_lower_bound, strict=True)
        rows = [
            row.to_dict() | {"epsilon": one, "ratio_to_ours": ours, "ratio_to_lower_bound": lower}
            for row, (one, ours, lower) in zip(self.rows, numbers, strict=True)
        ]
        return to_frame(rows, index="bound")

    def plot(self, ax: Any = None) -> Any:
        """Draw one dot per answer on matplotlib Axes, new ones unless given, and return them.

        Raises:
            MissingExtraError: an ImportError, if matplotlib is not installed.
        """
        dots = [Dot(row.cells[0], row.epsilon, row.kind) for row in self.rows]
        return plot_dots(dots, title=self.title, label="epsilon", ax=ax)


def compare(
    randomizer: LocalRandomizer | str,
    n: int,
    target_delta: float,
    *,
    rtol: float | None = None,
    **conditions: Unpack[Conditions],
) -> Comparison:
    """Ask our bounds and all published analyses for epsilon at ``target_delta``.

    Args:
        randomizer: what each user runs, as an object or a text.
        n: number of users.
        target_delta: the delta at which epsilon is asked for.
        rtol: relative width of the enclosures, 1e-4 (1e-3 of rounds) unless told; an
            :class:`shuffledp.AccuracyWarning` says where our bound is valid but wider.
        conditions: ``corrupted``, ``view``, ``rounds`` and so on, as in :class:`shuffledp.Setting`.
            Published upper bounds are about the multiset, and hold for the sum as well; they are
            those of the honest users, and do not cover reports that are learned after the fact, or
            several rounds.

    >>> found = compare("krr(k=10, epsilon0=2)", n=10_000, target_delta=1e-6)
    >>> found.bounds[:3]
    ('guarantee', 'blanket', 'lower_bound')
    >>> found.epsilon[:4].round(4)
    array([0.0798, 0.0798, 0.0798,    nan])
    >>> found.rows[3].reason
    'it needs epsilon0 below 1/2, got 2'
    """
    randomizer = as_randomizer(randomizer)
    setting = Setting(mechanism=randomizer, n=check_users(n), **conditions)
    delta, rtol = (
        check_delta(target_delta),
        check_rtol(setting.usual_rtol if rtol is None else rtol),
    )
    question = Question(setting, "epsilon", delta, tuple(BOUNDS), rtol)
    values = dict(zip(BOUNDS, answer(question), strict=True))
    for name, value in values.items():
        if not value.rtol_reached:
            message = f"{BOUNDS[name].title}: valid but wider than rtol = {plain(rtol)}"
            warnings.warn(message, AccuracyWarning, stacklevel=2)
    ours, lower = values["guarantee"].number, values["lower_bound"].number
    rows = tuple(
        Row(
            name,
            f"shuffledp, {bound.title}" if name in OURS else bound.title,
            bound.kind,
            bound.sound,
            values[name].number,
            _ratio(values[name].number, ours),
            _ratio(values[name].number, lower),
            values[name].reason,
            relation_of(name, randomizer),
        )
        for name, bound in BOUNDS.items()
    )
    return Comparison(setting, delta, rtol, rows)


def _ratio(epsilon: float | None, reference: float | None) -> float | None:
    if epsilon is None or not reference:
        return None
    ratio = epsilon / reference
    return ratio if ratio < math.inf else None


def _shown(row: Row, most: float) -> Sequence[Markup | str]:
    """Return the cells of a row with a bar, the longest for ``most``."""
    if row.epsilon is None:
        return row.cells[0], f"no answer: {row.reason}"
    return *row.cells, bar(row.epsilon / most)
