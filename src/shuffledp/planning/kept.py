"""What plans have found in a file, so that a run that was interrupted can be continued."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shuffledp._version import __version__
from shuffledp.comparison import Kept, is_of_this_package
from shuffledp.planning.goal import Goal
from shuffledp.planning.option import LeftOut, Option, Setting
from shuffledp.planning.search import Found
from shuffledp.planning.task import Family
from shuffledp.randomizers import parse

_Named = tuple[str, Sequence[Family]]


@dataclass(frozen=True)
class KeptOptions:
    """What became of the mechanisms of a task.

    Parameters and their proofs are kept; what follows from them is computed again.

    >>> import tempfile
    >>> from shuffledp.accounting.crowd import Crowd
    >>> from shuffledp.planning.frequency import Frequency
    >>> from shuffledp.planning.goal import LeastError
    >>> goal = LeastError(Frequency(n=1000, domain_size=3), 1e-6, "multiset", Crowd(1000), 1.0)
    >>> krr = ("krr", goal.task.mechanisms()["krr"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     KeptOptions(Kept(f"{folder}/kept"), goal).add(krr, goal.judge(krr))
    ...     KeptOptions(Kept(f"{folder}/kept"), goal).get(krr) == goal.judge(krr)
    True

    Attributes:
        kept: the file.
        goal: what the plan has to meet.
    """

    kept: Kept
    goal: Goal

    def get(self, named: _Named) -> Option | LeftOut | None:
        """Return what became of a mechanism, if it is known."""
        match self.kept.read(_identity(self.goal, named[0])):
            case [str(reason)]:
                return LeftOut(named[0], reason)
            case [ours, previous]:
                return self.goal.option(
                    _found(ours), None if previous is None else _found(previous)
                )
        return None

    def add(self, named: _Named, judged: Option | LeftOut) -> None:
        """Keep what became of a mechanism.

        Raises:
            OSError: if the file cannot be written.
        """
        if isinstance(judged, LeftOut):
            content: list[object] = [judged.reason]
        else:
            previous = None if judged.previous is None else _row(judged.previous)
            content = [_row(judged.ours), previous]
        self.kept.write(_identity(self.goal, named[0]), content)


@dataclass(frozen=True)
class KeptErrors:
    """The errors of all mechanisms of a task, by their names.

    Attributes:
        kept: the file.
    """

    kept: Kept

    def get(self, goal: Goal) -> dict[str, float] | None:
        """Return the errors at a goal, if they are known."""
        errors: dict[str, float] | None = self.kept.read(_identity(goal, "errors of all"))
        return errors

    def add(self, goal: Goal, errors: Mapping[str, float]) -> None:
        """Keep the errors at a goal.

        Raises:
            OSError: if the file cannot be written.
        """
        self.kept.write(_identity(goal, "errors of all"), dict(errors))


def _row(setting: Setting) -> tuple[str, float, str]:
    return str(setting.randomizer), setting.epsilon, setting.bound


def _found(row: Sequence[object]) -> Found:
    mechanism, epsilon, bound = row
    return Found(parse(str(mechanism)), float(str(epsilon)), str(bound))


def _identity(goal: Goal, what: str) -> str | None:
    """Return all that decides an answer, as text: a goal shows its fields, those of its task, too.

    None for goals and tasks of other packages, which may change while the version stays.
    """
    if not (is_of_this_package(type(goal)) and is_of_this_package(type(goal.task))):
        return None
    return repr((__version__, goal, what))
