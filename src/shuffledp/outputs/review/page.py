"""The document: one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import math
import shlex
from collections.abc import Iterator
from decimal import Decimal

from shuffledp._version import __version__
from shuffledp.accounting import Report
from shuffledp.accounting.accountant import DEFAULT_RTOL
from shuffledp.accounting.assumptions import LEVEL
from shuffledp.accounting.report import Proof
from shuffledp.basics.figures import Chart, picture
from shuffledp.basics.markup import render
from shuffledp.basics.rounding import exp_above, exp_below, given_or_up, plain, round_down, round_up
from shuffledp.basics.wording import counted, shorten
from shuffledp.certificates import Certificate
from shuffledp.certificates.known_sums import why_unknown
from shuffledp.comparison import OURS
from shuffledp.outputs.review.cover import Cover, Whole
from shuffledp.outputs.review.findings import Findings

_PICTURE = (4.4, 3.3)  # inches, two of them side by side
_MAX_TEXT = 400  # characters of a mechanism, which may be a matrix

#: What proves a guarantee, in words.
_PROOFS: dict[Proof, str] = {
    "blanket": "the optimal decomposition (“blanket”) bound",
    "swap": "the swap bound, over all datasets that the other users may hold",
    "exact": "the exact worst case over all datasets",
    "composition": "the composition of the sums of all attributes",
}


def review_page(
    report: Report,
    cover: Cover | None = None,
    certificate: Certificate | None = None,
    whole: Whole | None = None,
) -> str:
    """Return the document about one guarantee, for people who decide and do not compute.

    Args:
        report: the guarantee.
        cover: title, organisation and contact.
        certificate: a proof to be embedded.
        whole: what the reports are a part of.

    Raises:
        NoAnswerError: if the report has no finite epsilon.
        MissingExtraError: if matplotlib, which draws the pictures, is not installed.
    """
    return write_page(Findings(report), cover or Cover(), certificate, whole)


def write_page(
    found: Findings,
    cover: Cover,
    certificate: Certificate | None = None,
    whole: Whole | None = None,
) -> str:
    """Return the document about numbers that may be there already."""
    report = found.report
    sound = [row for row in found.comparison.rows if row.sound]
    return render(
        "shuffledp.outputs.review",
        "page.html",
        version=__version__,
        cover=cover,
        found=found,
        report=report,
        certificate=certificate,
        whole=whole,
        mechanism=shorten(str(report.randomizer), _MAX_TEXT),
        epsilon=_epsilon(found),
        lower_bound=_lower_bound(found),
        delta=_delta(found),
        factor=round_up(exp_above(found.epsilon)),
        least_factor=round_down(exp_below(-found.epsilon)),
        right=math.nextafter((1 + found.advantage) / 2, 1.0),
        level=_level(found),
        level_meaning=LEVEL,
        of_whatever=_whatever(found),
        what_ifs=list(_what_ifs(found)),
        hits=[(f"{plain(100 * rate)} %", f"{_percent(hit)} %") for rate, hit in found.hits],
        published=[row.cells[:3] for row in sound if row.epsilon is not None],
        ours=len([row for row in sound if row.bound in OURS]),
        unknown=[f"{row.cells[0]}: {row.reason}" for row in sound if row.epsilon is None],
        proof=_PROOFS[report.bound],
        commands=list(commands(found)),
        proof_command=proof_command(found),
        percent=_percent,
        picture=_picture,
    )


def _what_ifs(found: Findings) -> Iterator[tuple[str, str, str]]:
    """Yield what may happen, in what measure, and the epsilon then."""
    yield "as assumed", str(found.report.crowd), _epsilon(found)
    for what, cases, noun in (
        ("fewer users take part", found.fewer, "user"),
        ("users work for the analyst", found.colluding, "user"),
        ("the same users are asked again", found.repeated, "round"),
    ):
        for case in cases:
            yield what, counted(case.count, noun), _up(case.epsilon)
    fails = f"the {found.seen.middle} fails"
    if found.shuffled is not None:
        yield fails, "all reports, without order or sender", _up(found.shuffled)
    yield fails, f"every report with its sender{_whatever(found)}", _local(found)


def commands(found: Findings) -> Iterator[str]:
    """Yield command lines that give the numbers of the document."""
    report = found.report
    who, target, view, rtol = _asked(report)
    crowd = "".join(
        f" --{name.replace('_', '-')} {count}"
        for name in ("corrupted", "corrupted_adaptively")
        if (count := getattr(report.crowd, name))
    )
    bound = f"--bound {report.wanted}"
    yield f"shuffledp {report.quantity} {who} {target} {bound}{view}{rtol}{crowd}"
    yield f"shuffledp compare {who} --delta {plain(found.delta)}{view}{rtol}{crowd}"


def proof_command(found: Findings) -> str | None:
    """Return how a certificate is made, if there is one: for honest users, without rtol."""
    report = found.report
    who, target, view, rtol = _asked(report)
    known = not view or why_unknown(report.randomizer, report.n) is None
    if report.crowd.assumptions or rtol or not known:
        return None
    return f"shuffledp certify {who} {target} --bound {report.wanted}{view}"


def _asked(report: Report) -> tuple[str, str, str, str]:
    """Return the question as options: mechanism and users, target, view, and accuracy."""
    target = f"--{'epsilon' if report.quantity == 'delta' else 'delta'} {plain(report.target)}"
    view = "" if report.view == "multiset" else f" --view {report.view}"
    rtol = "" if report.rtol == DEFAULT_RTOL else f" --rtol {plain(report.rtol)}"
    return f"{shlex.quote(str(report.randomizer))} -n {report.n}", target, view, rtol


def _picture(chart: Chart) -> str:
    return base64.b64encode(picture(chart, ".svg", _PICTURE)).decode("ascii")


def _level(found: Findings) -> str:
    """Return how private one report is whose sender is known."""
    epsilon = _local(found)
    return f"ε0 = {epsilon}" if found.is_pure else f"ε = {epsilon}, δ = {_delta(found)}"


def _local(found: Findings) -> str:
    """Return the epsilon of one report whose sender is known; a level as it was given."""
    return given_or_up(found.local) if found.is_pure else _up(found.local)


def _epsilon(found: Findings) -> str:
    """Return the epsilon of the claim: as it was given, or rounded up."""
    given = found.report.target_epsilon
    return found.report.at_most if given is None else plain(given)


def _lower_bound(found: Findings) -> str:
    asked = found.report.quantity == "epsilon"
    return found.report.at_least if asked else round_down(found.lower_bound)


def _whatever(found: Findings) -> str:
    """Return what to add where a number is about more than the guarantee is."""
    return "" if found.relation.replaces_input else ", whatever changes"


def _delta(found: Findings) -> str:
    """Return the delta of the claim: as it was given, or rounded up."""
    given = found.report.target_delta
    return found.report.at_most if given is None else plain(given)


def _up(number: float) -> str:
    return round_up(number) if math.isfinite(number) else "no finite number"


def _percent(rate: float) -> str:
    """Return a rate in percent, rounded up."""
    return round_up(Decimal(rate).scaleb(2))
