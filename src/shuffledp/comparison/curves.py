"""Curves of several bounds and mechanisms, as one result."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.assumptions import assumptions_in, noteworthy
from shuffledp.accounting.setting import Conditions, Setting
from shuffledp.accounting.sum_view import View, is_exact, view_in_words
from shuffledp.basics.errors import AccuracyWarning, check_rtol, check_several
from shuffledp.basics.extras import import_extra
from shuffledp.basics.figures import Chart, picture, plot
from shuffledp.basics.markup import Markup, grid
from shuffledp.basics.rounding import plain, round_down, round_up
from shuffledp.basics.wording import closest, counted, did_you_mean
from shuffledp.comparison.axis import (
    AXES,
    AxisName,
    Course,
    Families,
    Mechanism,
    end_of_profile,
    read_families,
)
from shuffledp.comparison.bounds import BOUNDS, OURS, bound_names, relation_of
from shuffledp.comparison.drawn_curve import Curve
from shuffledp.comparison.pool import sweep
from shuffledp.comparison.question import Question
from shuffledp.mechanisms import LocalRandomizer

_POINTS = 50
_SMALL = (4.0, 2.6)  # inches of a picture in a notebook
_SHOWN_ENDS = 5  # points at each end of a displayed table


@dataclass(frozen=True, repr=False)
class Curves:
    """Bounds of mechanisms along an axis; :func:`curve` makes them.

    Attributes:
        course: what varies, its points, and what stays.
        rtol: the relative width that was asked for.
        curves: one for every mechanism and bound, in this order.
        seen: for sums, which mechanisms have the answer of the multiset, and why.
        mechanisms: what the curves are of, at the last point.
    """

    course: Course
    rtol: float
    curves: tuple[Curve, ...]
    seen: tuple[str, ...] = ()
    mechanisms: tuple[LocalRandomizer, ...] = ()

    def __repr__(self) -> str:
        """Say what this is; the numbers would fill pages."""
        return (
            f"<{counted(len(self.curves), 'curve')} of {self.quantity} against {self.against}, "
            f"{counted(len(self.course.x), 'point')} each>"
        )

    @property
    def view(self) -> View:
        """What the analyst sees, "multiset" or "sum"."""
        return self.course.setting.view

    @property
    def against(self) -> AxisName:
        """What varies."""
        return self.course.axis.name

    @property
    def quantity(self) -> Literal["epsilon", "delta"]:
        """What the curves show."""
        return self.course.axis.quantity

    @property
    def x(self) -> NDArray[np.float64] | NDArray[np.int64]:
        """The points of all curves."""
        return np.array(self.course.x)

    @property
    def title(self) -> str:
        """What is the same along all curves."""
        mechanisms = list(dict.fromkeys(curve.mechanism for curve in self.curves))
        facts = mechanisms if len(mechanisms) == 1 else []
        setting, delta = self.course.setting, self.course.target_delta
        facts += [str(setting.crowd)] if setting.n is not None else []
        facts += [f"delta = {plain(delta)}"] if delta is not None else []
        facts += [words] if setting.n is None and (words := str(setting.corruption)) else []
        facts += ["only the sum is seen"] if self.view == "sum" else []
        facts += [f"{setting.rounds:,} rounds"] if setting.rounds > 1 else []
        return ", ".join(facts)

    @property
    def notes(self) -> tuple[str, ...]:
        """Where a curve has no answer or is less precise than asked, and what the analyst knows."""
        gaps = (note for curve in self.curves for note in (*self._gaps(curve), *self._wide(curve)))
        facts = noteworthy(self.mechanisms)
        return (*gaps, *self.seen, *self.course.setting.corruption.assumptions, *facts)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the numbers assume."""
        return assumptions_in(self.course.at(self.course.x[-1]), self.mechanisms)

    def _gaps(self, curve: Curve) -> Iterable[str]:
        gaps = [
            (x, reason)
            for x, reason in zip(curve.points, curve.reasons, strict=True)
            if reason is not None
        ]
        if gaps:
            x, reason = gaps[0]
            yield (
                f"{curve.label}: no answer at {_share(gaps, curve)}, first at {self.against} = "
                f"{plain(x)}: {reason}"
            )

    def _wide(self, curve: Curve) -> Iterable[str]:
        wide = [value for value in curve.values if not value.rtol_reached]
        if wide:
            yield (
                f"{curve.label}: valid but wider than rtol = {plain(self.rtol)} at "
                f"{_share(wide, curve)}"
            )

    def to_chart(self) -> Chart:
        """Return the data of a picture; :func:`shuffledp.basics.figures.draw` writes it."""
        return Chart(
            title=self.title,
            x_label=self.course.axis.label,
            y_label=self.quantity,
            lines=tuple(curve.to_line() for curve in self.curves),
            x_log=self.course.axis.log,
            y_log=True,
        )

    def to_dict(self) -> dict[str, object]:
        """Return the fields that the command line prints as JSON."""
        return {
            "against": self.against,
            "quantity": self.quantity,
            "n": self.course.setting.n,
            **self.course.setting.corruption.to_dict(),
            "rounds": None if self.against == "rounds" else self.course.setting.rounds,
            "at_most": self.course.setting.at_most,
            "target_delta": self.course.target_delta,
            "view": self.view,
            "seen": self.seen,
            "rtol": self.rtol,
            "curves": [curve.to_dict() for curve in self.curves],
        }

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame, one row per curve and point; NaN where there is no answer.

        Raises:
            MissingExtraError: an ImportError, if pandas is not installed.
        """
        rows = [
            {
                "mechanism": curve.mechanism,
                "relation": str(curve.relation),
                "bound": curve.bound,
                "kind": curve.kind,
                self.against: x,
                self.quantity: y,
                "reason": value.reason,
                "rtol_reached": value.rtol_reached,
            }
            for curve in self.curves
            for x, y, value in zip(curve.x, curve.y, curve.values, strict=True)
        ]
        return to_frame(rows)

    def plot(self, ax: Any = None) -> Any:
        """Draw the curves on matplotlib Axes, new ones unless given, and return them.

        Raises:
            MissingExtraError: an ImportError, if matplotlib is not installed.
        """
        return plot(self.to_chart(), ax)

    def _repr_html_(self) -> str:
        """Return the ends of the curves as a table, for notebooks; with matplotlib, a picture."""
        head = [self.against, *(curve.label for curve in self.curves)]
        body = [self._row(i) for i in range(len(self.course.x))]
        hidden = len(body) - 2 * _SHOWN_ENDS
        if hidden > 1:
            body[_SHOWN_ENDS:-_SHOWN_ENDS] = [[f"... ({counted(hidden, 'more point')})"]]
        caption = ", ".join(filter(None, (self.quantity, self.title)))
        foot = [] if find_spec("matplotlib") is None else [[self._picture()]]
        return grid(caption, head, body, foot)

    def _picture(self) -> Markup:
        chart = self.to_chart()
        content = base64.b64encode(picture(chart, ".svg", _SMALL)).decode("ascii")
        image = '<img src="data:image/svg+xml;base64,{}" alt="{} against {}" style="{}" />'
        style = "background:#fff;max-width:100%"  # its ink is black
        return Markup(image).format(content, chart.y_label, chart.x_label, style)

    def _row(self, i: int) -> list[str]:
        cells = [plain(self.course.x[i])]
        for curve in self.curves:
            number = curve.values[i].number
            rounded = round_up if curve.kind == "upper" else round_down
            cells.append("no answer" if number is None else rounded(number))
        return cells


def _share(some: Sequence[object], curve: Curve) -> str:
    return f"{len(some)} of {counted(len(curve.points), 'point')}"


def curve(
    mechanisms: Mechanism | Iterable[Mechanism],
    against: AxisName = "users",
    x: Iterable[float] | None = None,
    *,
    n: int | None = None,
    target_delta: float | None = None,
    bounds: str | Iterable[str] = OURS,
    rtol: float | None = None,
    processes: int | None = 1,
    **conditions: Unpack[Conditions],
) -> Curves:
    """Compute bounds of mechanisms against users, epsilon0, delta, epsilon or rounds.

    The curves show epsilon, or delta if epsilon varies. Where a bound has no answer they have a
    gap, and a reason.

    Args:
        mechanisms: what each user runs, a text or an object, one or several. Against epsilon0, a
            text without it such as ``"krr(k=10)"``, or a function of it.
        against: what varies.
        x: where, increasing; by default 50 points in a range that suits most questions.
        n: number of users, unless they vary.
        target_delta: the delta at which epsilon is asked for, unless it varies or is asked for.
        bounds: names of :data:`shuffledp.comparison.BOUNDS`, or "all".
        rtol: relative width of the enclosures of our bounds, 1e-4 (1e-3 of rounds) unless told.
        processes: how many processes to use. None takes all cores where that pays; other processes
            import the main module, so a script then calls this under
            ``if __name__ == "__main__":``.
        conditions: ``corrupted``, ``view``, ``rounds`` and so on, as in :class:`shuffledp.Setting`;
            a share of corrupted users is one of the users at each point. The blanket and published
            bounds are about the multiset; published ones are those of the honest users, and do not
            cover reports that are learned after the fact, or several rounds.

    Raises:
        ValueError: if an argument is missing, would be ignored, or is not allowed.
        TypeError: if one is of the wrong type.

    >>> found = curve("krr(k=10, epsilon0=2)", x=[1_000, 10_000, 100_000], target_delta=1e-6)
    >>> found
    <3 curves of epsilon against users, 3 points each>
    >>> guarantee, blanket, lower_bound = found.curves
    >>> guarantee.y.round(4)
    array([0.2727, 0.0798, 0.0231])
    """
    if against not in tuple(AXES):  # which compares, so that any object can be asked about
        raise ValueError(
            f"against must be among {', '.join(AXES)}, got {against!r}"
            f"{did_you_mean(closest(str(against), AXES))}"
        )
    axis = AXES[against]
    families = read_families(mechanisms, against)
    setting = Setting(n=n, **conditions)
    places = (axis.low,) if x is None else tuple(check_several("x", x, "numbers"))
    course = Course(axis, places, setting, target_delta)
    if x is None:
        high = axis.high
        if high is None:
            made = (make(1.0) for make in families.values())
            high = end_of_profile(made, setting)
        course = replace(course, x=axis.points(axis.low, high, _POINTS))
    found = trace(families, course, bounds=bounds, rtol=rtol, processes=processes)
    for item in found.curves:
        for note in found._wide(item):
            warnings.warn(note, AccuracyWarning, stacklevel=2)
    return found


def trace(
    families: Families,
    course: Course,
    *,
    bounds: str | Iterable[str] = OURS,
    rtol: float | None = None,
    processes: int | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> Curves:
    """Ask every bound about every mechanism at every point.

    Args:
        families: by name, what each user runs at a point.
        course: the points and what stays.
        bounds: names of :data:`shuffledp.comparison.BOUNDS`, or "all".
        rtol: relative width of the enclosures.
        processes: as for :func:`shuffledp.comparison.compute`.
        on_done: as for :func:`shuffledp.comparison.compute`.
    """
    names, usual = bound_names(bounds), course.at(course.x[-1]).usual_rtol
    rtol = check_rtol(usual if rtol is None else rtol)
    series: dict[str, list[Question]] = {}
    for text, make in families.items():
        series[text] = []
        for point in course.x:
            setting = course.at(point).of(make(point))
            target = course.target_at(point)
            series[text].append(Question(setting, course.axis.quantity, target, names, rtol))
    for text, questions in series.items():
        if len(relations := {question.randomizer.relation for question in questions}) > 1:
            shown = ", ".join(map(str, relations))
            raise ValueError(f"{text} must have one neighbour relation along a curve, got {shown}")
    last = {text: questions[-1].randomizer for text, questions in series.items()}
    answers = sweep(series, processes=processes, on_done=on_done)
    return Curves(
        course,
        rtol,
        tuple(
            Curve(
                text,
                name,
                BOUNDS[name].label if len(series) == 1 else f"{text}: {BOUNDS[name].label}",
                course.x,
                tuple(row[i] for row in answers[text]),
                relation_of(name, last[text]),
            )
            for text in series
            for i, name in enumerate(names)
        ),
        _seen(series) if course.setting.view == "sum" else (),
        tuple(last.values()),
    )


def _seen(series: Mapping[str, Sequence[Question]]) -> tuple[str, ...]:
    """Return why the answer is that of the multiset, at the last point of some mechanisms."""
    return tuple(
        f"{text}: the analyst sees {view_in_words(last.randomizer, last.view, last.crowd)}"
        for text, questions in series.items()
        for last in [questions[-1].setting]
        if not is_exact(last.randomizer, last.crowd)
    )


def to_frame(rows: Sequence[Mapping[str, object]], index: str | None = None) -> Any:
    """Return a DataFrame with one row per mapping, indexed by one of the columns if asked.

    Raises:
        MissingExtraError: if pandas is not installed.
    """
    frame = import_extra("pandas").DataFrame(list(rows))
    return frame if index is None else frame.set_index(index)
