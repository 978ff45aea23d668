"""How the error of every mechanism falls with epsilon."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shuffledp.accounting.setting import Setting
from shuffledp.basics.errors import MAX_EPSILON0, NoAnswerError
from shuffledp.basics.figures import Chart, Line
from shuffledp.basics.rounding import plain
from shuffledp.comparison import compute
from shuffledp.planning.goal import Goal, LeastError
from shuffledp.planning.plan import judged
from shuffledp.planning.task import Task

_PUBLISHED = "best published bound"
_EACH_SIDE = 6
_STEP = 2**0.5


def error_chart(
    task: Task,
    epsilons: Sequence[float],
    delta: float,
    *,
    setting: Setting | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> Chart:
    """Return the chart of error against epsilon, one line per mechanism.

    One more line is the least error that any of the mechanisms has with published bounds.

    Args:
        task: what is estimated, from how many users.
        epsilons: where the curves are computed, increasing.
        delta: the delta to be met.
        setting: the users and all else, but for the mechanism; None for honest users and one round.
        on_done: called with the numbers of finished and of all points.

    >>> from shuffledp.planning.frequency_task import Frequency
    >>> chart = error_chart(Frequency(n=1000, domain_size=3), (1.0,), 1e-6)
    >>> {line.label: round(line.y[0], 3) for line in chart.lines if line.label in ("krr", "oue")}
    {'krr': 0.007, 'oue': 0.02}
    """
    x = tuple(epsilons)
    setting = Setting(n=task.n) if setting is None else setting
    goals: list[Goal] = [LeastError(task, delta, setting, epsilon) for epsilon in x]
    rows = compute(_errors, goals, on_done=on_done)
    labels = [*task.mechanisms(), _PUBLISHED]
    return Chart(
        title=f"{task.subject}, {setting.crowd}, delta = {plain(delta)}",
        x_label="epsilon",
        y_label="root mean square error",
        lines=tuple(
            Line(label, x, tuple(row.get(label) for row in rows), kind="upper", group=label)
            for label in labels
            if any(label in row for row in rows)
        ),
        x_log=True,
        y_log=True,
    )


def epsilons_around(epsilon: float) -> tuple[float, ...]:
    """Return 13 epsilons from an eighth to eight times the given one, those up to 300.

    >>> [round(x, 2) for x in epsilons_around(0.8)[::6]]
    [0.1, 0.8, 6.4]

    Raises:
        NoAnswerError: if epsilon is 0, which has no multiples.
    """
    if epsilon == 0:
        raise NoAnswerError("a chart shows multiples of epsilon, and epsilon is 0")
    steps = range(-_EACH_SIDE, _EACH_SIDE + 1)
    return tuple(x for step in steps if (x := epsilon * _STEP**step) <= MAX_EPSILON0)


def _errors(goal: Goal) -> dict[str, float]:
    """Return the error of each mechanism that meets a goal, and the least one so far."""
    try:
        options, _ = judged(goal)
    except NoAnswerError:
        return {}
    errors = {option.name: option.ours.error for option in options}
    published = [option.previous.error for option in options if option.previous is not None]
    return errors | ({_PUBLISHED: min(published)} if published else {})
