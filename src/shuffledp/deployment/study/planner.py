"""The best way to collect a study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shuffledp.basics.arrays import usual_errors
from shuffledp.basics.errors import NoAnswerError, check_type
from shuffledp.deployment.study.block import best_start, blocks_of, choices, shuffled_apart
from shuffledp.deployment.study.composed import best_composed
from shuffledp.deployment.study.gaussian_guess import gaussian_epsilon, gaussian_spread
from shuffledp.deployment.study.scoring import task_of
from shuffledp.deployment.study.separate import best_separate
from shuffledp.deployment.study.shared_out import best_shared_out
from shuffledp.deployment.study.study import Study
from shuffledp.deployment.study.study_option import StudyOption

_NO_CROSSES = "its reports cannot give cross tables"

_Search = Callable[[], StudyOption]


@dataclass(frozen=True)
class LeftOutStrategy:
    """A strategy that a plan does not offer, and why."""

    strategy: str
    reason: str


@dataclass(frozen=True)
class StudyPlan:
    """The strategies that meet the target of a study.

    Attributes:
        study: the study.
        options: sorted by score, the best first.
        left_out: strategies that do not meet the target, or cannot give what is wanted.
    """

    study: Study
    options: tuple[StudyOption, ...]
    left_out: tuple[LeftOutStrategy, ...]

    @property
    def best(self) -> StudyOption:
        """The option of least score."""
        return self.options[0]


@usual_errors
def plan_study(study: Study, *, on_done: Callable[[int, int], None] | None = None) -> StudyPlan:
    """Find the strategy of least error whose reports together meet the study's epsilon and delta.

    Every attribute gets its best mechanism and parameters. Strategies are compared by the root of
    the weighted mean of their squared errors: shares as they are, means in parts of the range.

    * *separate shuffles*: every user sends one report about each attribute, and each attribute is
      shuffled on its own. The budget is split, and what all shuffles reveal together is certified
      by composing their privacy-loss laws.
    * *one attribute per user*: every user reports one attribute, chosen at random, and the report
      goes into one shuffle, which hides the choice.
    * *one public attribute per user*: every user reports one attribute, and all may know which.
      Each attribute is shuffled on its own, by a fixed number of users, and has the whole budget.
    * *joint report*: every user sends one report about all attributes, from which cross tables are
      estimated.
    * *joint and separate shuffles* and *one public block per user*: a joint report about attributes
      that share cross tables, the others on their own; otherwise as above.

    Args:
        study: what is asked.
        on_done: called after each strategy with the numbers of strategies done and in all.

    Raises:
        NoAnswerError: if no strategy meets the target.
        TypeError: if it is no study, but a plan for example.
    """
    searches = _searches(check_type("study", study, Study))
    options, left_out = [], []
    for done, (name, search) in enumerate(searches.items(), start=1):
        if search is None:
            left_out.append(LeftOutStrategy(name, _NO_CROSSES))
        else:
            try:
                options.append(search())
            except NoAnswerError as error:
                left_out.append(LeftOutStrategy(name, str(error)))
        if on_done is not None:
            on_done(done, len(searches))
    if not options:
        why = "; ".join(f"{one.strategy}: {one.reason}" for one in left_out)
        raise NoAnswerError(f"no strategy meets the target; {why}")
    options.sort(key=lambda option: option.predictions.score)
    return StudyPlan(study, tuple(options), tuple(left_out))


def _searches(study: Study) -> dict[str, _Search | None]:
    """Return how to look for the best of each strategy, None for those without the cross tables."""
    blocks = blocks_of(study)
    share = gaussian_spread(study.epsilon, study.delta) / len(blocks) ** 0.5
    first = min(gaussian_epsilon(share, study.delta), study.epsilon)
    starts = [block.start(study.n, first) for block in blocks]
    if len(study.attributes) == 1:
        return {
            "separate shuffles": lambda: best_separate("separate shuffles", study, blocks, starts)
        }
    searches: dict[str, _Search | None] = {}
    apart = shuffled_apart(blocks)
    if not apart:
        searches |= {"separate shuffles": None, "one attribute per user": None}
    if len(blocks) > 1:
        name = "separate shuffles" if apart else "joint and separate shuffles"
        public = "one public attribute per user" if apart else "one public block per user"
        searches[name] = lambda: best_separate(name, study, blocks, starts)
        searches[public] = lambda: best_shared_out(public, study, blocks, starts)
    tasks = [task_of(attribute, study.n) for attribute in study.attributes]
    alone = starts if apart else [best_start(t, study.n, first, study.delta) for t in tasks]
    tries = [choices(*pair) for pair in zip(tasks, alone, strict=True)]
    if apart:
        searches["one attribute per user"] = lambda: best_composed(
            "one attribute per user", study, tasks, tries
        )
    searches["joint report"] = lambda: best_composed("joint report", study, tasks, tries)
    return searches
