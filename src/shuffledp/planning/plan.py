"""Which mechanism, at which epsilon0, for what is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Unpack

from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.setting import Conditions, Setting
from shuffledp.basics.arrays import usual_errors
from shuffledp.basics.errors import (
    NoAnswerError,
    check_delta,
    check_epsilon,
    check_positive,
    check_size,
    check_users,
)
from shuffledp.basics.markup import bar, grid
from shuffledp.basics.rounding import given_or_up, plain, round_down, round_up
from shuffledp.basics.wording import shorten
from shuffledp.comparison import compute
from shuffledp.planning.candidate import LeftOut, Option
from shuffledp.planning.distribution import check_distribution
from shuffledp.planning.frequency_task import Frequency
from shuffledp.planning.goal import Goal, LeastEpsilon, LeastError
from shuffledp.planning.mean_task import Mean
from shuffledp.planning.task import Task

#: What a plan can be made for, by name.
TASKS: Mapping[str, type[Task]] = MappingProxyType({task.name: task for task in (Frequency, Mean)})


@dataclass(frozen=True)
class Plan:
    """The mechanisms that meet a target, the best one first.

    Attributes:
        task: what is estimated, from how many users.
        target_delta: the delta to be met.
        target_epsilon: the epsilon to be met, None if an error was asked for.
        target_error: the error to be met, None if an epsilon was asked for.
        options: sorted by error, or by epsilon if an error was asked for.
        left_out: suitable mechanisms that do not meet the target.
        setting: the users and all else, but for the mechanism.
    """

    task: Task
    target_delta: float
    target_epsilon: float | None
    target_error: float | None
    options: tuple[Option, ...]
    left_out: tuple[LeftOut, ...]
    setting: Setting

    @property
    def crowd(self) -> Crowd:
        """The users, and how many of them are corrupted."""
        return self.setting.crowd

    @property
    def best(self) -> Option:
        """The option of least error, or of least epsilon."""
        return self.options[0]

    def _repr_html_(self) -> str:
        """Return the ranking as a table, for notebooks."""
        asked = "error" if self.target_error is None else "epsilon"
        most = max((getattr(option.ours, asked) for option in self.options), default=1.0) or 1.0
        rows = (
            (
                shorten(str(option.ours.randomizer)),
                given_or_up(option.ours.epsilon),
                round_up(option.ours.error),
                bar(getattr(option.ours, asked) / most),
                f"{option.ours.report_bytes:,}",
                "none" if option.gain is None else round_down(option.gain, 3),
            )
            for option in self.options
        )
        published = f"{asked} with published bounds, to ours"
        head = ("mechanism", "epsilon", "error", "", "bytes", published)
        caption = f"{self.task.subject}, {self.crowd}, delta = {plain(self.target_delta)}"
        return grid(caption, head, rows)


@usual_errors
def plan(
    *,
    n: int,
    target_delta: float,
    target_epsilon: float | None = None,
    target_error: float | None = None,
    domain_size: int | None = None,
    task: str = "frequency",
    distribution: Iterable[float] | None = None,
    on_done: Callable[[int, int], None] | None = None,
    **conditions: Unpack[Conditions],
) -> Plan:
    r"""Find the mechanism of least error that is (target_epsilon, target_delta)-DP.

    Every suitable mechanism gets its best discrete parameters, up to about 1% of the error, and the
    largest epsilon0 that is certified to be safe, up to a relative 1e-4. Asked the other way round,
    with ``target_error`` instead of ``target_epsilon``, every mechanism gets the smallest epsilon0
    that is accurate enough, and the least epsilon comes first.

    Which mechanism is best depends on the target. Few values favour ``krr``; many values, or a
    small epsilon, favour reports that support several of them: subset selection, local hashing and
    unary encodings. A mean with strict privacy needs no more than one bit (``krr`` with k = 2); the
    larger n and epsilon are, the more rounding to a bit hurts, and the more levels are best.
    ``laplace`` and ``gaussian`` are left out: ``discrete_laplace`` does as well as ``laplace``.

    A mechanism with m choices of its discrete parameters (about 120 at most) costs m evaluations of
    the bound, and some twenty more for each choice that is better than all before it.

    Args:
        n: number of users.
        target_delta: the delta to be met.
        target_epsilon: the epsilon to be met.
        target_error: the root mean square error to be met: of the share of a value, or of a mean of
            values in [0, 1].
        domain_size: number of values; for a mean they are equidistant, and without it they are any
            numbers in [0, 1].
        task: "frequency" or "mean".
        distribution: shares of the values among the users. Without it errors are those of the worst
            data.
        on_done: called with the numbers of finished and of all mechanisms.
        conditions: ``corrupted``, ``view``, ``rounds`` and so on, as in :class:`shuffledp.Setting`;
            estimates need no more than sums. Errors are those of one round, and of the noise if
            all n users report as planned; how far corrupted ones can move an estimate, besides, is
            ``largest_shift``.

    Raises:
        NoAnswerError: if no mechanism meets the target.

    >>> best = plan(n=10_000, target_epsilon=0.1, target_delta=1e-6, domain_size=30).best.ours
    >>> best.randomizer.name, round(best.randomizer.epsilon0, 3), round(best.error, 5)
    ('krr', 2.621, 0.00575)
    >>> best = plan(n=10_000, target_error=0.00575, target_delta=1e-6, domain_size=30).best.ours
    >>> best.randomizer.name, round(best.epsilon, 3)
    ('krr', 0.1)
    """
    if (target_epsilon is None) == (target_error is None):
        raise ValueError(
            "either target_epsilon or target_error must be given, got "
            f"{'neither' if target_error is None else 'both'}"
        )
    made = make_task(n=n, domain_size=domain_size, task=task, distribution=distribution)
    delta, setting = check_delta(target_delta), Setting(n=made.n, **conditions)
    epsilon = error = None
    goal: Goal
    if target_epsilon is not None:
        epsilon = check_epsilon(target_epsilon)
        goal = LeastError(made, delta, setting, epsilon)
    else:
        error = check_positive("target_error", target_error)
        goal = LeastEpsilon(made, delta, setting, error)
    options, left_out = judged(goal, on_done)
    return Plan(made, delta, epsilon, error, options, left_out, setting)


def make_task(
    *, n: int, domain_size: int | None, task: str, distribution: Iterable[float] | None
) -> Task:
    """Return a task from arguments that are not checked yet."""
    if task not in tuple(TASKS):  # which compares, so that any object can be asked about
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {task!r}")
    n = check_users(n)
    if domain_size is not None:
        domain_size = check_size("domain_size", domain_size)
    elif task == Frequency.name:
        raise ValueError("domain_size must be given for the task frequency")
    if distribution is None:
        return TASKS[task](n, domain_size)
    if domain_size is None:
        raise ValueError("domain_size must be given with a distribution")
    return TASKS[task](n, domain_size, check_distribution(distribution, domain_size))


def judged(
    goal: Goal,
    on_done: Callable[[int, int], None] | None = None,
) -> tuple[tuple[Option, ...], tuple[LeftOut, ...]]:
    """Return the mechanisms that meet a goal, the best one first, and the others.

    Raises:
        NoAnswerError: if none meets it.
    """
    named = list(goal.task.mechanisms().items())
    found = compute(goal.judge, named, processes=1, on_done=on_done)
    options = [option for option in found if isinstance(option, Option)]
    left_out = tuple(other for other in found if isinstance(other, LeftOut))
    if not options:
        name, why = left_out[0].name, left_out[0].reason
        raise NoAnswerError(f"no mechanism meets the target; {name}: {why}")
    return tuple(sorted(options, key=lambda option: goal.rank(option.ours))), left_out
