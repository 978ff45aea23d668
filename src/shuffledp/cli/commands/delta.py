"""``shuffledp delta``: the failure probability at a given epsilon."""

from __future__ import annotations

from shuffledp.accounting import Setting
from shuffledp.cli.answers.asked import delta_answer
from shuffledp.cli.answers.printable import Printable, question
from shuffledp.cli.parameters import EPSILON, RTOL
from shuffledp.cli.setting_options import SETTING, complete


@question(*SETTING[:2], EPSILON, RTOL, *SETTING[2:])
def delta(setting: Setting, epsilon: float, rtol: float | None) -> Printable:
    """Find the delta of the shuffled reports at a given epsilon.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them.
    """
    return delta_answer(complete(setting), epsilon, rtol)
