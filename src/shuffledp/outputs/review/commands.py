"""Command lines that give the numbers of the document."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from shuffledp.basics.rounding import plain
from shuffledp.certificates.known_sums import why_unknown
from shuffledp.outputs.review.findings import Findings


def commands(found: Findings) -> Iterator[str]:
    """Yield command lines that give the numbers of the document.

    Published analyses are about one round, and so is the comparison with them.
    """
    setting, report, view = found.setting, found.report, _view(found)
    rest = f"--bound {setting.bound}{view}{_rounds(found)}{_rtol(found)}{_crowd(found)}"
    yield f"shuffledp {report.quantity} {_who(found)} {_target(found)} {rest}"
    rtol = _rtol(found) if found.rounds == 1 else ""
    rest = f"--delta {plain(found.delta)}{view}{rtol}{_crowd(found)}"
    yield f"shuffledp compare {_who(found)} {rest}"


def proof_command(found: Findings) -> str | None:
    """Return how a certificate is made, if there is one: nothing learned adaptively, no rtol."""
    setting, view = found.setting, _view(found)
    known = not view or why_unknown(found.randomizer, found.crowd.honest) is None
    if found.crowd.corrupted_adaptively or _rtol(found) or not known:
        return None
    rest = f"--bound {setting.bound}{view}{_rounds(found)}{_crowd(found)}"
    return f"shuffledp certify {_who(found)} {_target(found)} {rest}"


def _rounds(found: Findings) -> str:
    if found.rounds == 1:
        return ""
    at_most = found.setting.at_most
    return f" --rounds {found.rounds}" + ("" if at_most is None else f" --at-most {at_most}")


def _rtol(found: Findings) -> str:
    usual = found.setting.usual_rtol
    return "" if found.report.rtol == usual else f" --rtol {plain(found.report.rtol)}"


def _crowd(found: Findings) -> str:
    return "".join(
        f" --{name.replace('_', '-')} {count}"
        for name in ("corrupted", "corrupted_adaptively")
        if (count := getattr(found.crowd, name))
    )


def _who(found: Findings) -> str:
    return f"{shlex.quote(str(found.randomizer))} -n {found.crowd.n}"


def _target(found: Findings) -> str:
    name = "epsilon" if found.report.quantity == "delta" else "delta"
    return f"--{name} {plain(found.report.target)}"


def _view(found: Findings) -> str:
    return "" if found.setting.view == "multiset" else f" --view {found.setting.view}"
