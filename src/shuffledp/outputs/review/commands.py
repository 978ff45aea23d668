"""Command lines that give the numbers of the document."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from shuffledp.accounting.setting import DEFAULT_RTOL, ROUNDS_RTOL
from shuffledp.basics.rounding import plain
from shuffledp.certificates.known_sums import why_unknown
from shuffledp.outputs.review.findings import Findings


def commands(found: Findings) -> Iterator[str]:
    """Yield command lines that give the numbers of the document.

    Published analyses are about one round, and so is the comparison with them.
    """
    setting, report = found.setting, found.report
    several = "" if found.rounds == 1 else f" --rounds {found.rounds}"
    if several and setting.at_most is not None:
        several += f" --at-most {setting.at_most}"
    usual = DEFAULT_RTOL if found.rounds == 1 else ROUNDS_RTOL
    rtol = "" if report.rtol == usual else f" --rtol {plain(report.rtol)}"
    crowd = "".join(
        f" --{name.replace('_', '-')} {count}"
        for name in ("corrupted", "corrupted_adaptively")
        if (count := getattr(found.crowd, name))
    )
    view = _view(found)
    rest = f"--bound {setting.bound}{view}{several}{rtol}{crowd}"
    yield f"shuffledp {report.quantity} {_who(found)} {_target(found)} {rest}"
    rtol = "" if several else rtol
    yield f"shuffledp compare {_who(found)} --delta {plain(found.delta)}{view}{rtol}{crowd}"


def proof_command(found: Findings) -> str | None:
    """Return how a certificate is made, if there is one: for honest users, one round, no rtol."""
    setting, view = found.setting, _view(found)
    is_usual = found.rounds == 1 and found.report.rtol == DEFAULT_RTOL
    known = not view or why_unknown(found.randomizer, found.crowd.n) is None
    if found.crowd.assumptions or not is_usual or not known:
        return None
    return f"shuffledp certify {_who(found)} {_target(found)} --bound {setting.bound}{view}"


def _who(found: Findings) -> str:
    return f"{shlex.quote(str(found.randomizer))} -n {found.crowd.n}"


def _target(found: Findings) -> str:
    name = "epsilon" if found.report.quantity == "delta" else "delta"
    return f"--{name} {plain(found.report.target)}"


def _view(found: Findings) -> str:
    return "" if found.setting.view == "multiset" else f" --view {found.setting.view}"
