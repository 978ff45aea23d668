"""``shuffledp epsilon``: the privacy level at a given delta."""

from __future__ import annotations

from shuffledp.accounting import Setting
from shuffledp.cli.answers.asked import epsilon_answer
from shuffledp.cli.answers.printable import Printable, question
from shuffledp.cli.parameters import DELTA, RTOL
from shuffledp.cli.setting_options import SETTING, complete


@question(*SETTING[:2], DELTA, RTOL, *SETTING[2:])
def epsilon(setting: Setting, delta: float, rtol: float | None) -> Printable:
    """Find the epsilon of the shuffled reports at a given delta.

    MECHANISM is what each user runs, for example "krr(k=10, epsilon0=2)"; see "shuffledp
    mechanisms" for all of them.
    """
    return epsilon_answer(complete(setting), delta, rtol)
